import { limited } from "./Limited.ts"

limited(37)
