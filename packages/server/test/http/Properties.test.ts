import { properties } from "./Properties.ts"

properties(25)
