/**
 * Runs both generated clients against the server at BASE_URL.
 *
 * The server tries what is published here at once, and no receiver answers as one would: so the delivery is pending or
 * failed, as it happens, and nothing may be asked for by either. Given up it is not before minutes have passed.
 */
import { oazapfts } from "./oazapfts.ts"
import { openapiFetch } from "./openapiFetch.ts"

const [, , baseUrl = "", operatorToken = ""] = process.argv
await openapiFetch(baseUrl, operatorToken)
console.log("openapi-typescript and openapi-fetch: compiled, and every call answered as typed")
await oazapfts(baseUrl, operatorToken)
console.log("oazapfts: compiled, and every call answered as typed")
