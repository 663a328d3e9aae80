/**
 * Who is calling through the console: its cookie becomes a caller, for the very operations that REST runs.
 *
 * A page of another origin gets nowhere: browsers say where a request comes from (`Sec-Fetch-Site`), and a write also
 * needs the header `x-console`, which no foreign page can send. A bearer token opens nothing here. Source: decision §9.
 */
import type { IncomingMessage } from "node:http"
import { type ConsoleSession, ConsoleSessions } from "@posthorn/capabilities/ConsoleSessions"
import { Forbidden, type RateLimited, Unauthorized } from "@posthorn/domain/Errors"
import { Effect } from "effect"
import type { Caller } from "../Gate.ts"
import { clientKey, RateLimits, reporting } from "../RateLimits.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { makeCookies } from "./Cookies.ts"

type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export const foreign = () => new Forbidden({ permission: "origin" })

const isSafe = (method: string | undefined) => method === "GET" || method === "HEAD"

/** Whether the console's own page sent it. */
const isOurs = (method: string | undefined, headers: Headers) =>
  headers["sec-fetch-site"] === "same-origin" && (isSafe(method) || headers["x-console"] !== undefined)

/**
 * Which workspace's session is meant: the one in the path; for operations without one what `x-console` names, or the
 * only one there is.
 */
const slugMeant = (slug: string | undefined, headers: Headers, secrets: ReadonlyMap<string, string>) => {
  if (slug !== undefined) return slug
  const named = String(headers["x-console"] ?? "")
  return secrets.has(named) ? named : secrets.size === 1 ? [...secrets.keys()][0] : undefined
}

export class SessionDoor extends Effect.Service<SessionDoor>()("@posthorn/server/SessionDoor", {
  dependencies: [ConsoleSessions.Default, RateLimits.Default],
  effect: Effect.gen(function* () {
    const { baseUrl } = yield* ServerConfig
    const limits = yield* RateLimits
    const sessions = yield* ConsoleSessions
    const cookies = makeCookies(baseUrl)

    /** A sign-in that failed, or a session that is none, counts against the client's address. */
    const unauthorized = (address: string): Effect.Effect<never, Unauthorized | RateLimited> =>
      Effect.flatMap(limits.take("auth_failure", clientKey(address)), (state) =>
        Effect.fail(reporting(new Unauthorized(), state))
      )

    const find = (slug: string | undefined, headers: Headers): Effect.Effect<ConsoleSession | undefined> => {
      const secrets = cookies.read(headers.cookie as string | undefined)
      const meant = slugMeant(slug, headers, secrets)
      const secret = meant === undefined ? undefined : secrets.get(meant)
      return secret === undefined ? Effect.succeed(undefined) : sessions.identify(meant!, secret)
    }

    /** Who sends this request to an operation. */
    const authenticate = (
      message: IncomingMessage,
      slug: string | undefined
    ): Effect.Effect<Caller, Forbidden | Unauthorized | RateLimited> =>
      isOurs(message.method, message.headers)
        ? Effect.flatMap(find(slug, message.headers), (session) =>
            session === undefined
              ? unauthorized(message.socket.remoteAddress ?? "")
              : Effect.succeed<Caller>({ kind: "session", session })
          )
        : Effect.fail(foreign())

    /** Every live session of this browser. */
    const all = (headers: Headers) =>
      Effect.map(
        Effect.forEach(cookies.read(headers.cookie as string | undefined), ([slug, secret]) =>
          sessions.identify(slug, secret)
        ),
        (found) => found.filter((session) => session !== undefined)
      )

    return { all, authenticate, cookies, find, isOurs, unauthorized } as const
  })
}) {}
