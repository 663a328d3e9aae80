/** How the pages look: as the link says, else in the operator's colour. */
import { applyAccent } from "./accent.ts"
import type { View } from "./session.tsx"
import { applyTheme } from "./theme.ts"

let accent: string | null = null
let theme: View["theme"] = null

/** Of buttons and fields, and of what is larger and smaller, in their proportion. */
const RADII = { "--radius": 2 / 3, "--radius-md": 1, "--radius-lg": 4 / 3, "--radius-xl": 2 }

const applyRadius = (radius: number | undefined) => {
  const { style } = document.documentElement
  for (const [name, times] of Object.entries(RADII))
    if (radius === undefined) style.removeProperty(name)
    else style.setProperty(name, `${radius * times}px`)
}

const apply = () => {
  applyAccent(theme?.accent ?? accent)
  applyRadius(theme?.radius)
  applyTheme(theme?.colorScheme ?? "system")
}

export const setAccent = (ofOperator: string | null) => {
  accent = ofOperator
  apply()
}

export const setLook = (ofLink: View["theme"]) => {
  theme = ofLink
  apply()
}
