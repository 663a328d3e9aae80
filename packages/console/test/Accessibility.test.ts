import { accessibility } from "./Accessibility.ts"

accessibility(7, ["light"])
