/**
 * The public keys of a workspace, open to everybody: a receiver that verifies by them needs no token.
 *
 * A flood of these requests holds at most two connections to the database. Source: spec §2.9.
 */
import { HttpApiBuilder, HttpRouter, HttpServerResponse } from "@effect/platform"
import { PublicKeys } from "@posthorn/capabilities/PublicKeys"
import { Effect, Layer } from "effect"

const AT_ONCE = 2

export const publicKeySetsLive = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const keys = yield* PublicKeys
    const turns = yield* Effect.makeSemaphore(AT_ONCE)
    yield* router.get(
      "/workspaces/:slug/.well-known/jwks.json",
      Effect.gen(function* () {
        const { slug = "" } = yield* HttpRouter.params
        const set = yield* turns.withPermits(1)(keys.jwks(slug))
        return HttpServerResponse.text(JSON.stringify(set), {
          contentType: "application/jwk-set+json",
          headers: { "cache-control": "public, max-age=300" }
        })
      })
    )
  })
).pipe(Layer.provide(PublicKeys.Default))
