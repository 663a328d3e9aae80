/**
 * Authenticates calls of the console: the cookie, or the secret that an embedded page keeps in memory and sends as
 * `x-console-session`, determines the caller of REST's operations. Neither is accepted in the other's place.
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

type SessionCaller = Extract<Caller, { readonly kind: "session" }>
type Headers = HttpServerRequest.HttpServerRequest["headers"]

const isSafe = (method: string) => method === "GET" || method === "HEAD"

/** Whether the console's own page sent the request. */
export const isOurs = ({ headers, method }: HttpServerRequest.HttpServerRequest) =>
  headers["sec-fetch-site"] === "same-origin" && (isSafe(method) || headers["x-console"] !== undefined)

/** An embedded page sends no cookie. A request with this header is of such a page, whatever cookies come with it. */
export const embeddedSecret = (headers: Headers): string | undefined => headers["x-console-session"]

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

      const secretsIn = (headers: Headers): ReadonlyArray<CookieSecret> => {
        const embedded = embeddedSecret(headers)
        return embedded === undefined
          ? cookies.read(headers.cookie)
          : [[headers["x-console"] ?? "", embedded]]
      }

      const identify = (headers: Headers, secrets: ReadonlyArray<CookieSecret>) =>
        sessions.identify(secrets, { isEmbedded: embeddedSecret(headers) !== undefined })

      const findIn = (slug: string, headers: Headers, secrets = secretsIn(headers)) =>
        Effect.map(
          identify(
            headers,
            secrets.filter(([each]) => each === slug)
          ),
          ([session]) => session
        )

      /** The session that `x-console` names, and no other. */
      const findNamed = (headers: Headers) => findIn(headers["x-console"] ?? "", headers)

      const find = (
        slug: string | undefined,
        headers: Headers
      ): Effect.Effect<ConsoleSession | undefined> => {
        const secrets = secretsIn(headers)
        return findIn(slugMeant(slug, headers, secrets) ?? "", headers, secrets)
      }

      const authenticate = (
        { headers, remoteAddress }: HttpServerRequest.HttpServerRequest,
        slug: string | undefined
      ): Effect.Effect<SessionCaller, Unauthorized | RateLimited> =>
        Effect.flatMap(find(slug, headers), (session) =>
          session === undefined
            ? unauthorized(Option.getOrElse(remoteAddress, () => ""))
            : Effect.succeed<SessionCaller>({ kind: "session", session })
        )

      const all = (headers: Headers) => identify(headers, secretsIn(headers))

      return { all, authenticate, cookies, findNamed } as const
    })
  }
) {}
