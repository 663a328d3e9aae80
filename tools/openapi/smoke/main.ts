/**
 * Runs both generated clients against the server at BASE_URL.
 *
 * The server tries at once to deliver what is published here, and no receiver answers successfully. So a delivery may be
 * pending or failed, and nothing may rely on either. It is not given up before minutes have passed.
 */
import { oazapfts } from "./oazapfts.ts"
import { openapiFetch } from "./openapiFetch.ts"

const [, , baseUrl = "", operatorToken = ""] = process.argv
await openapiFetch(baseUrl, operatorToken)
console.log("openapi-typescript and openapi-fetch: compiled, and every call answered as typed")
await oazapfts(baseUrl, operatorToken)
console.log("oazapfts: compiled, and every call answered as typed")
