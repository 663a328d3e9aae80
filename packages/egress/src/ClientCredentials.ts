/**
 * Asks a token endpoint for a token: OAuth 2.0 client credentials, RFC 6749 §4.4.
 *
 * The endpoint is as little trusted as a receiver. The request goes through a Dispatcher, so every rule for addresses holds when it
 * connects, redirects are not followed, and it ends within the deadlines. At most `ANSWER_LIMIT_BYTES` of the answer are read. A
 * failure repeats nothing of it but its status and its OAuth error code, and of that not the client's secret.
 *
 * One form and one JSON object: ADR 36 says why there is no library. Source: spec §2.9 (Tokens).
 */
import { Either, Redacted } from "effect"
import { concealed } from "./Concealment.ts"
import type { Dispatcher } from "./Dispatch.ts"
import type { Observation } from "./Observation.ts"

export interface ClientCredentials {
  /** Validated and serialised. */
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  readonly scope?: string | undefined
  readonly audience?: string | undefined
  /** Where id and secret stand. Defaults to the header. */
  readonly sendCredentialsIn?: "header" | "body" | undefined
}

export interface Token {
  readonly value: Redacted.Redacted
  readonly livesSeconds: number
}

/** A sentence that may be shown to whoever may see the endpoint. */
export type TokenFailure = string

export type TokenAnswer = Either.Either<Token, TokenFailure>

/** Calls `done` once, with null only after the dispatcher was closed. The returned function gives it up. */
export type RequestToken = (
  workspaceId: string,
  credentials: ClientCredentials,
  done: (answer: TokenAnswer | null) => void
) => () => void

/** For the dispatcher, which stops reading there. */
export const ANSWER_LIMIT_BYTES = 64 * 1024

/** Of a token that does not say how long it lives. */
const LIVES_SECONDS = 3_600

const TOKEN = /^[\x21-\x7e]{1,8192}$/
const CODE_LIMIT = 64
const CODE = new RegExp(`^[\\w.-]{1,${CODE_LIMIT}}$`)

export const requestToken =
  (send: Dispatcher["send"]): RequestToken =>
  (workspaceId, credentials, done) => {
    const request = { workspaceId, url: credentials.tokenUrl, ...formOf(credentials) }
    let giveUp: () => void
    const ask = (): void => {
      giveUp = send(request, (seen) => {
        // It had no turn to look the name up: nobody was asked.
        if (seen === "no_turn") ask()
        else done(seen && answerOf(seen, credentials.clientSecret))
      })
    }
    ask()
    return () => giveUp()
  }

/** RFC 6749 §2.3.1 has id and secret encoded like a form's values before they are joined. */
const encoded = (text: string) => new URLSearchParams([["", text]]).toString().slice(1)

const formOf = ({ audience, clientId, clientSecret, scope, sendCredentialsIn }: ClientCredentials) => {
  const secret = Redacted.value(clientSecret)
  const form = new URLSearchParams({ grant_type: "client_credentials" })
  if (scope !== undefined) form.set("scope", scope)
  if (audience !== undefined) form.set("audience", audience)
  const basic = Buffer.from(`${encoded(clientId)}:${encoded(secret)}`).toString("base64")
  if (sendCredentialsIn === "body") {
    form.set("client_id", clientId)
    form.set("client_secret", secret)
  }
  return {
    body: form.toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
      ...(sendCredentialsIn !== "body" && { authorization: `Basic ${basic}` })
    }
  }
}

const answerOf = (
  { failureReason, httpStatus, responseBody }: Observation,
  clientSecret: Redacted.Redacted
): TokenAnswer => {
  if (httpStatus === null) return Either.left(`The token endpoint could not be asked (${failureReason}).`)
  const answer = objectOf(responseBody)
  if (httpStatus >= 200 && httpStatus < 300) {
    const token = tokenOf(answer)
    return token === null
      ? Either.left(`The token endpoint answered ${httpStatus}, but without a bearer token that can be used.`)
      : Either.right(token)
  }
  const { error } = answer
  const shown = (code: string) => concealed(code, [[Redacted.value(clientSecret), "sealed"]], CODE_LIMIT)
  const code = typeof error === "string" && CODE.test(error) ? ` (${shown(error)})` : ""
  return Either.left(`The token endpoint answered ${httpStatus}${code}.`)
}

const objectOf = (text: string | null): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text ?? "")
    return typeof value === "object" && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** A token that ends before it can be used would be fetched again without end. The endpoint refuses one that has ended. */
const LEAST_SECONDS = 1
const MOST_SECONDS = 30 * 86_400

const tokenOf = ({
  access_token: token,
  expires_in: lives = LIVES_SECONDS,
  token_type: type = "bearer"
}: Readonly<Record<string, unknown>>): Token | null => {
  const livesSeconds = typeof lives === "number" || typeof lives === "string" ? Number(lives) : 0
  if (typeof token !== "string" || !TOKEN.test(token) || !(livesSeconds > 0)) return null
  if (typeof type !== "string" || type.toLowerCase() !== "bearer") return null
  return {
    value: Redacted.make(token),
    livesSeconds: Math.min(Math.max(livesSeconds, LEAST_SECONDS), MOST_SECONDS)
  }
}
