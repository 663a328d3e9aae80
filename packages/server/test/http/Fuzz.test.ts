import { fuzz } from "./Fuzz.ts"

fuzz(3)
