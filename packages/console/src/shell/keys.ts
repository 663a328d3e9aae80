/** Keyboard control. Single letters can be switched off, for users of speech input or other shortcuts; ⌘K always works. */
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { keep, kept } from "../session/kept.ts"
import { places } from "./places.ts"

const KEY = "posthorn-keys"

/** The label of ⌘K on this system. */
export const COMMAND_K = /Mac|iP(hone|ad|od)/.test(navigator.platform) ? "⌘K" : "Ctrl K"

const readEnabled = () => kept(KEY) !== "off"

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest("[role=listbox],[role=menu]") !== null)

/** To the next or the previous row of the list on the page. */
const moveRow = (by: 1 | -1) => {
  const links = [...document.querySelectorAll<HTMLElement>("[data-row] a, [data-row] button")].filter(
    (each, index, all) =>
      all.findIndex((other) => other.closest("[data-row]") === each.closest("[data-row]")) === index
  )
  const row = document.activeElement?.closest("[data-row]")
  const at = links.findIndex((link) => link.closest("[data-row]") === row)
  const next = links[at < 0 ? (by === 1 ? 0 : links.length - 1) : at + by]
  next?.focus()
  next?.scrollIntoView({ block: "nearest" })
}

/** Clicks the element that the page has marked with this key. */
const press = (key: string) => document.querySelector<HTMLElement>(`[data-key="${key}"]`)?.click()

const PREFIX_MS = 1200

export const useKeys = (slug: string, open: { readonly palette: () => void; readonly sheet: () => void }) => {
  const navigate = useNavigate()
  const [enabled, setEnabled] = useState(readEnabled)
  const prefixed = useRef(0)
  const handlers = useRef(open)
  handlers.current = open

  useEffect(() => {
    const go = (key: string) => {
      const place = places.find((each) => each.key === key)
      if (place !== undefined && document.querySelector(`nav a[data-place="${key}"]`) !== null)
        navigate({ to: place.to, params: { slug } })
    }
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault()
        return handlers.current.palette()
      }
      const isModal = document.querySelector("[role=dialog]") !== null
      if (!enabled || isModal || event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target))
        return
      if (Date.now() - prefixed.current < PREFIX_MS) {
        prefixed.current = 0
        return go(event.key)
      }
      const simple: Record<string, () => void> = {
        g: () => {
          prefixed.current = Date.now()
        },
        j: () => moveRow(1),
        k: () => moveRow(-1),
        "?": () => handlers.current.sheet(),
        "/": () => document.querySelector<HTMLElement>("[data-search] input, input[data-search]")?.focus()
      }
      const act = simple[event.key] ?? (/^[a-z]$/.test(event.key) ? () => press(event.key) : undefined)
      if (act === undefined) return
      if (event.key === "/") event.preventDefault()
      act()
    }
    document.addEventListener("keydown", onKeyDown)
    return () => document.removeEventListener("keydown", onKeyDown)
  }, [enabled, navigate, slug])

  const change = (on: boolean) => {
    keep(KEY, on ? "on" : "off")
    setEnabled(on)
  }
  return { enabled, change }
}
