import { accessibility } from "./Accessibility.ts"

accessibility(1, ["light", "dark"])
