/**
 * What the browser keeps of somebody's choices: theme and keys. A browser that refuses, and the console in a frame of another
 * page, keep it until the page is left.
 */
import { isEmbedded } from "./embedding.ts"

const chosen = new Map<string, string>()

export const kept = (key: string): string | null => {
  try {
    return chosen.get(key) ?? (isEmbedded ? null : localStorage.getItem(key))
  } catch {
    return null
  }
}

export const keep = (key: string, value: string) => {
  chosen.set(key, value)
  try {
    if (!isEmbedded) localStorage.setItem(key, value)
  } catch {
    // It lasts until the page is left.
  }
}
