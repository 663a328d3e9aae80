/** Light, dark, or the system's theme. This is all that the browser stores. */
import { useSyncExternalStore } from "react"

export type Theme = "system" | "light" | "dark"
const KEY = "posthorn-theme"
const listeners = new Set<() => void>()

const read = (): Theme => {
  try {
    const kept = localStorage.getItem(KEY)
    return kept === "light" || kept === "dark" ? kept : "system"
  } catch {
    return "system"
  }
}

const apply = (theme: Theme) => {
  const root = document.documentElement
  if (theme === "system") delete root.dataset.theme
  else root.dataset.theme = theme
}

export const startTheme = () => apply(read())

export const setTheme = (theme: Theme) => {
  try {
    if (theme === "system") localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {
    // Without storage the theme lasts until the page is left.
  }
  apply(theme)
  for (const listener of listeners) listener()
}

export const useTheme = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    (): Theme => (document.documentElement.dataset.theme as Theme | undefined) ?? "system"
  )
