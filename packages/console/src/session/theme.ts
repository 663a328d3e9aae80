/** Light, dark, or the system's theme: what was chosen here, else what the link says. */
import { useSyncExternalStore } from "react"
import { keep, kept } from "./kept.ts"

export type Theme = "system" | "light" | "dark"
const KEY = "posthorn-theme"
const listeners = new Set<() => void>()

let ofLink: Theme = "system"

const theme = (): Theme => {
  const chosen = kept(KEY)
  return chosen === "light" || chosen === "dark" || chosen === "system" ? chosen : ofLink
}

export const applyTheme = (given: Theme = ofLink) => {
  ofLink = given
  const now = theme()
  const root = document.documentElement
  if (now === "system") delete root.dataset.theme
  else root.dataset.theme = now
  for (const listener of listeners) listener()
}

export const setTheme = (chosen: Theme) => {
  keep(KEY, chosen)
  applyTheme()
}

export const useTheme = () =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, theme)
