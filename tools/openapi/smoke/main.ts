/** Runs both generated clients against the server at BASE_URL. */
import { openapiFetch } from "./openapiFetch.ts"
import { orval } from "./orval.ts"

const [, , baseUrl = "", operatorToken = ""] = process.argv
await openapiFetch(baseUrl, operatorToken)
console.log("openapi-typescript and openapi-fetch: compiled, and every call answered as typed")
await orval(baseUrl, operatorToken)
console.log("orval: compiled, and every call answered as typed")
