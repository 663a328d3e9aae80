/**
 * Who is calling through the console: its cookie becomes a caller, for the very operations that REST runs.
 *
 * A page of another origin gets nowhere: browsers say where a request comes from (`Sec-Fetch-Site`), and a write also
 * needs the header `x-console`, which no foreign page can send. A bearer token opens nothing here. Source: decision §9.
 */
import { type ConsoleSession, ConsoleSessions } from "@posthorn/capabilities/ConsoleSessions"
import { ForeignOrigin, type RateLimited, type Unauthorized } from "@posthorn/domain/Errors"
import { Effect } from "effect"
import { type Caller, Gate } from "../Gate.ts"
import type { Exchange } from "../http/Exchange.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { makeCookies } from "./Cookies.ts"

type Headers = Exchange["headers"]

const isSafe = (method: string) => method === "GET" || method === "HEAD"

/** Whether the console's own page sent it. */
const isOurs = ({ headers, method }: Exchange) =>
  headers["sec-fetch-site"] === "same-origin" && (isSafe(method) || headers["x-console"] !== undefined)

/**
 * Which workspace's session is meant: the one in the path; for operations without one what `x-console` names, or the
 * only one there is.
 */
const slugMeant = (slug: string | undefined, headers: Headers, secrets: ReadonlyMap<string, string>) => {
  if (slug !== undefined) return slug
  const named = headers["x-console"] ?? ""
  return secrets.has(named) ? named : secrets.size === 1 ? [...secrets.keys()][0] : undefined
}

export class SessionDoor extends Effect.Service<SessionDoor>()("@posthorn/server/SessionDoor", {
  dependencies: [ConsoleSessions.Default, Gate.Default],
  effect: Effect.gen(function* () {
    const { baseUrl } = yield* ServerConfig
    const gate = yield* Gate
    const sessions = yield* ConsoleSessions
    const cookies = makeCookies(baseUrl)

    const find = (slug: string | undefined, headers: Headers): Effect.Effect<ConsoleSession | undefined> => {
      const secrets = cookies.read(headers.cookie)
      const meant = slugMeant(slug, headers, secrets)
      const secret = meant === undefined ? undefined : secrets.get(meant)
      return secret === undefined ? Effect.succeed(undefined) : sessions.identify(meant!, secret)
    }

    /** Who sends this request to an operation. */
    const authenticate = (
      exchange: Exchange,
      slug: string | undefined
    ): Effect.Effect<Caller, ForeignOrigin | Unauthorized | RateLimited> =>
      isOurs(exchange)
        ? Effect.flatMap(find(slug, exchange.headers), (session) =>
            session === undefined
              ? gate.unauthorized(exchange, exchange.address)
              : Effect.succeed<Caller>({ kind: "session", session })
          )
        : Effect.fail(new ForeignOrigin())

    /** Every live session of this browser. */
    const all = (headers: Headers) =>
      Effect.map(
        Effect.forEach(cookies.read(headers.cookie), ([slug, secret]) => sessions.identify(slug, secret)),
        (found) => found.filter((session) => session !== undefined)
      )

    return { all, authenticate, cookies, find, isOurs } as const
  })
}) {}
