/**
 * Authenticates calls of the console: the cookie determines the caller of REST's operations.
 *
 * Pages of other origins are refused: browsers tell where a request comes from (`Sec-Fetch-Site`), and a write also needs the
 * header `x-console`, which no foreign page can send. Bearer tokens are not accepted here. Source: spec §11.
 */

import type { HttpServerRequest } from "@effect/platform"
import { type ConsoleSession, ConsoleSessions } from "@posthorn/capabilities/ConsoleSessions"
import type { RateLimited, Unauthorized } from "@posthorn/domain/Errors"
import { Effect, Option } from "effect"
import type { Caller } from "../gate/AuthenticatedCaller.ts"
import { Authentication } from "../gate/Authentication.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { type CookieSecret, makeCookies } from "./Cookies.ts"

type Headers = HttpServerRequest.HttpServerRequest["headers"]

const isSafe = (method: string) => method === "GET" || method === "HEAD"

/** Whether the console's own page sent the request. */
export const isOurs = ({ headers, method }: HttpServerRequest.HttpServerRequest) =>
  headers["sec-fetch-site"] === "same-origin" && (isSafe(method) || headers["x-console"] !== undefined)

/**
 * The workspace whose session is meant: the one in the path. For operations without one: the one that `x-console` names, or the
 * only one with a session.
 */
const slugMeant = (slug: string | undefined, headers: Headers, secrets: ReadonlyArray<CookieSecret>) => {
  if (slug !== undefined) return slug
  const slugs = new Set(secrets.map(([each]) => each))
  const named = headers["x-console"] ?? ""
  return slugs.has(named) || slugs.size !== 1 ? named : [...slugs][0]
}

export class SessionAuthentication extends Effect.Service<SessionAuthentication>()(
  "@posthorn/server/SessionAuthentication",
  {
    dependencies: [Authentication.Default, ConsoleSessions.Default],
    effect: Effect.gen(function* () {
      const { baseUrl } = yield* ServerConfig
      const { unauthorized } = yield* Authentication
      const sessions = yield* ConsoleSessions
      const cookies = makeCookies(baseUrl)

      const findIn = (slug: string, secrets: ReadonlyArray<CookieSecret>) =>
        Effect.map(sessions.identify(secrets.filter(([each]) => each === slug)), ([session]) => session)

      /** The session that `x-console` names, and no other. */
      const findNamed = (headers: Headers) => findIn(headers["x-console"] ?? "", cookies.read(headers.cookie))

      const find = (
        slug: string | undefined,
        headers: Headers
      ): Effect.Effect<ConsoleSession | undefined> => {
        const secrets = cookies.read(headers.cookie)
        return findIn(slugMeant(slug, headers, secrets) ?? "", secrets)
      }

      const authenticate = (
        { headers, remoteAddress }: HttpServerRequest.HttpServerRequest,
        slug: string | undefined
      ): Effect.Effect<Caller, Unauthorized | RateLimited> =>
        Effect.flatMap(find(slug, headers), (session) =>
          session === undefined
            ? unauthorized(Option.getOrElse(remoteAddress, () => ""))
            : Effect.succeed<Caller>({ kind: "session", session })
        )

      const all = (headers: Headers) => sessions.identify(cookies.read(headers.cookie))

      return { all, authenticate, cookies, findNamed } as const
    })
  }
) {}
