/** The public keys of a workspace as a JWK Set, open to everybody. Source: spec §2.9. */
import { WorkspaceNotFound } from "@posthorn/domain/Errors"
import { isSlug } from "@posthorn/domain/Slug"
import { PublicKeysRepo } from "@posthorn/persistence/repositories/PublicKeysRepo"
import { Effect } from "effect"

/** RFC 8037. */
const jwk = (kid: string, key: Buffer) => ({
  kty: "OKP",
  crv: "Ed25519",
  alg: "EdDSA",
  use: "sig",
  kid,
  x: key.toString("base64url")
})

export class PublicKeys extends Effect.Service<PublicKeys>()("@posthorn/capabilities/PublicKeys", {
  dependencies: [PublicKeysRepo.Default],
  effect: Effect.gen(function* () {
    const repo = yield* PublicKeysRepo

    /** Within the grace window of a rotation the previous keys too. */
    const jwks = Effect.fn("PublicKeys.jwks")(function* (slug: string) {
      const found = isSlug(slug) ? yield* repo.ofWorkspace(slug) : undefined
      if (found === undefined) return yield* new WorkspaceNotFound()
      return {
        keys: found.flatMap(({ current, endpointId, previous }) => [
          jwk(endpointId, current),
          ...(previous === null ? [] : [jwk(`${endpointId}.previous`, previous)])
        ])
      }
    })

    return { jwks } as const
  })
}) {}
