import { fuzz } from "./Fuzz.ts"

fuzz(50)
