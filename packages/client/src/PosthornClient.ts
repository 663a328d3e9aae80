/**
 * A typed client of the REST API, derived from the contract: one method per operation, answers decoded, refusals as the
 * tagged errors of the domain.
 *
 * Calls refused with 429 (too many) or 503 (unavailable) are retried a few times, after `Retry-After`. After a 429 nothing was
 * done; after a 503 something may have been, so publish with an idempotency key. No Node built-ins: it needs an `HttpClient`,
 * for example `FetchHttpClient.layer`. Source: spec §9.
 */
import { HttpApiClient, HttpClient, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { Duration, Effect, type Redacted } from "effect"

export interface Options {
  /** Address of the service, with or without a slash at the end. */
  readonly baseUrl: string
  /** An API token, or the operator's. */
  readonly token: Redacted.Redacted
  /** How often a call is retried after 429 or 503; 0 switches it off. Defaults to 3. */
  readonly retries?: number
  /** The longest wait before a retry; with a longer `Retry-After` the call fails at once. Defaults to 10 seconds. */
  readonly maxWait?: Duration.DurationInput
}

const RETRIED: ReadonlySet<number> = new Set([429, 503])

/** The wait that `Retry-After` demands; a second without it. */
const waitOf = ({ headers }: HttpClientResponse.HttpClientResponse): Duration.Duration => {
  const seconds = Number(headers["retry-after"] ?? "1")
  return Duration.seconds(Number.isFinite(seconds) && seconds >= 0 ? seconds : 1)
}

const patiently = (retries: number, maxWait: Duration.Duration) => (client: HttpClient.HttpClient) => {
  const attempt = (
    request: HttpClientRequest.HttpClientRequest,
    left: number
  ): ReturnType<HttpClient.HttpClient["execute"]> =>
    Effect.flatMap(client.execute(request), (response) => {
      const wait = waitOf(response)
      return left > 0 && RETRIED.has(response.status) && Duration.lessThanOrEqualTo(wait, maxWait)
        ? Effect.delay(attempt(request, left - 1), wait)
        : Effect.succeed(response)
    })
  return HttpClient.make((request) => attempt(request, retries))
}

/** One method per operation, in groups as in the contract: `client.apiTokens.createApiToken({ path, payload })`. */
export const make = ({ baseUrl, maxWait = "10 seconds", retries = 3, token }: Options) =>
  HttpApiClient.make(Api, {
    baseUrl: baseUrl.replace(/\/+$/, ""),
    transformClient: (client) =>
      client.pipe(
        patiently(retries, Duration.decode(maxWait)),
        HttpClient.mapRequest(HttpClientRequest.bearerToken(token))
      )
  })

export type PosthornClient = Effect.Effect.Success<ReturnType<typeof make>>
