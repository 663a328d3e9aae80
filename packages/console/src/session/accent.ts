/** The operator's or the link's colour, made readable: as the fill of a button, and as text on either theme's ground. */
import { luminance } from "@posthorn/domain/Luminance"

type Rgb = readonly [number, number, number]

const parse = (hex: string): Rgb =>
  [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb
const format = (rgb: Rgb) => `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`

export const contrast = (one: string, other: string) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

const towards = (color: string, goal: string, share: number) => {
  const [from, to] = [parse(color), parse(goal)]
  return format(from.map((part, index) => part + (to[index]! - part) * share) as unknown as Rgb)
}

const ENOUGH = 4.8

/** The colour, moved towards `goal` only as far as needed to be readable on `ground`. */
export const readable = (color: string, ground: string, goal: string) => {
  for (let share = 0; share < 1; share += 0.05) {
    const moved = towards(color, goal, share)
    if (contrast(moved, ground) >= ENOUGH) return moved
  }
  return goal
}

export const applyAccent = (accent: string | null) => {
  const { style } = document.documentElement
  if (accent === null) {
    for (const name of ["--accent", "--accent-ink", "--accent-text"]) style.removeProperty(name)
    return
  }
  const ink = contrast(accent, "#ffffff") >= contrast(accent, "#0d0e11") ? "#ffffff" : "#0d0e11"
  style.setProperty("--accent", accent)
  style.setProperty("--accent-ink", ink)
  style.setProperty(
    "--accent-text",
    `light-dark(${readable(accent, "#f1f3f6", "#000000")}, ${readable(accent, "#1b1e24", "#ffffff")})`
  )
}
