/**
 * The duration of refusals, by what is wrong with the token or the session. They are sent one after another in a changing
 * order, so that other load slows all kinds alike. For AuthTiming.deep.test.ts.
 *
 * The server must not count failed sign-ins (`RATE_LIMIT_AUTH_FAILURE=off`), or it answers 429 before long.
 */
import { issue } from "@posthorn/capabilities/TokenText"
import { newId } from "@posthorn/domain/Ids"
import { Redacted } from "effect"

export interface Server {
  readonly url: string
  readonly operatorToken: string
}

/** In milliseconds. */
interface Took {
  readonly median: number
  readonly p95: number
}

type Headers = Readonly<Record<string, string>>

/** Headers that are refused, made anew each time. Kinds whose names begin alike are compared with each other. */
type Kinds = Readonly<Record<string, () => Headers>>

const call = async ({ url }: Server, method: string, path: string, headers: Headers, body?: unknown) => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A token with an existing id, another secret, and a valid checksum. */
const otherSecret = (token: string) => Redacted.value(issue(`tok_${token.split("_")[1]}`).text)

const OURS = { "sec-fetch-site": "same-origin", "x-console": "1" }
const randomSecret = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")

/** A workspace with tokens and an ended session, and every kind of refusal. */
const prepare = async (server: Server) => {
  const slug = `timing-${Date.now().toString(36)}`
  const operator = bearer(server.operatorToken)
  await call(server, "POST", "/workspaces", operator, { slug, name: "Timing" })
  const make = async () =>
    (await call(server, "POST", `/workspaces/${slug}/api-tokens`, operator, { name: "T", scopes: ["read"] }))
      .body
  const [used, idle, revoked] = [await make(), await make(), await make()]
  const signedIn = await call(server, "POST", "/console/session", OURS, { token: used.token })
  const [name, ended] = signedIn.headers.get("set-cookie")!.split(";")[0]!.split("=") as [string, string]
  await call(server, "DELETE", "/console/session", { ...OURS, "x-console": slug, cookie: `${name}=${ended}` })
  await call(server, "DELETE", `/workspaces/${slug}/api-tokens/${revoked.id}`, operator)
  const session = (secret: string) => ({ ...OURS, cookie: `${name}=${secret}` })
  const kinds: Kinds = {
    "token: unknown": () => bearer(Redacted.value(issue(newId("token")).text)),
    "token: wrong secret": () => bearer(otherSecret(idle.token)),
    "token: wrong secret of one in use": () => bearer(otherSecret(used.token)),
    "token: revoked": () => bearer(revoked.token),
    "token: wrong secret of a revoked one": () => bearer(otherSecret(revoked.token)),
    "session: unknown": () => session(randomSecret()),
    "session: ended": () => session(ended),
    "session: of no workspace": () => ({ ...OURS, cookie: `${name}x=${randomSecret()}` })
  }
  const remove = () => call(server, "DELETE", `/workspaces/${slug}`, operator)
  return { kinds, remove, slug, used: bearer(used.token) }
}

const shuffled = <A>(values: ReadonlyArray<A>) =>
  values
    .map((value) => [Math.random(), value] as const)
    .sort(([a], [b]) => a - b)
    .map(([, value]) => value)

const quantile = (sorted: ReadonlyArray<number>, at: number) => sorted[Math.floor(at * (sorted.length - 1))]!

export const measure = async (server: Server, rounds: number): Promise<Readonly<Record<string, Took>>> => {
  const { kinds, remove, slug, used } = await prepare(server)
  const times = new Map(Object.keys(kinds).map((kind) => [kind, [] as Array<number>]))
  const pathOf = (kind: string) => {
    const at = `/workspaces/${kind === "session: of no workspace" ? `${slug}x` : slug}/webhooks`
    return kind.startsWith("token") ? at : `/console/api${at}`
  }
  for (let round = 0; round < rounds; round++) {
    // The current token was used recently.
    await call(server, "GET", `/workspaces/${slug}/webhooks`, used)
    for (const [kind, headers] of shuffled(Object.entries(kinds))) {
      const sent = headers()
      const began = performance.now()
      const { status } = await call(server, "GET", pathOf(kind), sent)
      times.get(kind)!.push(performance.now() - began)
      if (status !== 401) throw new Error(`${kind}: ${status} instead of 401`)
    }
  }
  await remove()
  return Object.fromEntries(
    [...times].map(([kind, all]) => {
      const sorted = all.toSorted((a, b) => a - b)
      return [kind, { median: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) }]
    })
  )
}
