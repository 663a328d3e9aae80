/**
 * Measures how long refusals take, by what is wrong with the credential: `npm run auth-timing -- --url http://127.0.0.1:8080`
 * with OPERATOR_TOKEN in the environment, against a `serve` that counts no failed sign-ins (`RATE_LIMIT_AUTH_FAILURE=off`). It
 * makes a workspace and removes it. Says the median and the 95th percentile of each kind, and how far medians are apart.
 */
import { measure } from "../packages/server/test/Refusals.ts"
import { optionsOf } from "./Options.ts"

const values = optionsOf("auth-timing", { url: { type: "string" }, rounds: { type: "string" } })
const operatorToken = process.env.OPERATOR_TOKEN
const rounds = Number(values.rounds ?? 2000)
if (values.url === undefined || operatorToken === undefined || !(rounds >= 10)) {
  console.error(
    "auth-timing: OPERATOR_TOKEN=… npm run auth-timing -- --url http://127.0.0.1:8080 [--rounds 2000]"
  )
  process.exit(2)
}

const took = await measure({ url: values.url.replace(/\/$/, ""), operatorToken }, rounds)
const micros = (ms: number) => `${Math.round(ms * 1000)} µs`.padStart(9)
for (const [kind, { median, p95 }] of Object.entries(took))
  console.log(`${kind.padEnd(38)} median ${micros(median)}, p95 ${micros(p95)}`)
for (const what of ["token", "session"]) {
  const medians = Object.entries(took).flatMap(([kind, { median }]) =>
    kind.startsWith(what) ? [median] : []
  )
  console.log(`${what}: medians are ${micros(Math.max(...medians) - Math.min(...medians)).trim()} apart`)
}
