/**
 * The public keys of a workspace, open to everybody: a receiver that verifies by them needs no token.
 *
 * A flood of these requests holds at most two connections to the database, and counts against the client's address. Whether a
 * workspace exists cannot be told from the answer. Source: spec §2.9.
 */
import { HttpApiBuilder, HttpRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { PublicKeys } from "@posthorn/capabilities/PublicKeys"
import { Effect, Layer, Option } from "effect"
import { ANSWER_MS } from "../calls/Deadline.ts"
import { CurrentCall } from "../gate/CurrentCall.ts"
import { clientKey, RateLimits } from "../gate/RateLimits.ts"

const AT_ONCE = 2

export const publicKeySetsLive = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const keys = yield* PublicKeys
    const limits = yield* RateLimits
    const turns = yield* Effect.makeSemaphore(AT_ONCE)
    yield* router.get(
      "/workspaces/:slug/.well-known/jwks.json",
      Effect.gen(function* () {
        const { deadline } = yield* CurrentCall
        deadline?.start(ANSWER_MS)
        const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
        const client = clientKey(Option.getOrElse(remoteAddress, () => ""))
        yield* limits.take("rest_read", `address:${client}`)
        const { slug = "" } = yield* HttpRouter.params
        const set = yield* turns.withPermits(1)(keys.jwks(slug))
        return HttpServerResponse.text(JSON.stringify(set), {
          contentType: "application/jwk-set+json",
          headers: { "cache-control": "public, max-age=300" }
        })
      })
    )
  })
).pipe(Layer.provide([PublicKeys.Default, RateLimits.Default]))
