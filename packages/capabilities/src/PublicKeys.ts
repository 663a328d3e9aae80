/** The public keys of a workspace as a JWK Set, open to everybody. Source: spec §2.9. */
import { isSlug } from "@posthorn/domain/Slug"
import { PublicKeysRepo } from "@posthorn/persistence/repositories/PublicKeysRepo"
import { Cache, Context, Effect } from "effect"

/** For how long a set is not looked up again; nobody waits longer for a new key. Tests set none. */
export class KeySetsKept extends Context.Reference<KeySetsKept>()("@posthorn/capabilities/KeySetsKept", {
  defaultValue: () => ({ ms: 5_000 })
}) {}

/** Most sets that are kept, of workspaces that exist and that do not. */
const SETS = 10_000

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

    const { ms } = yield* KeySetsKept
    const kept = yield* Cache.make({
      capacity: SETS,
      timeToLive: ms,
      lookup: (slug: string) =>
        Effect.map(repo.ofWorkspace(slug), (found = []) => ({
          keys: found.flatMap(({ current, endpointId, previous }) => [
            jwk(endpointId, current),
            ...(previous === null ? [] : [jwk(`${endpointId}.previous`, previous)])
          ])
        }))
    })

    /**
     * Within the grace window of a rotation the previous keys too. A workspace that does not exist has no keys, like one that has
     * none, and is looked up like one that exists. Look-ups in flight are shared.
     */
    const jwks = (slug: string) => (isSlug(slug) ? kept.get(slug) : Effect.succeed({ keys: [] }))

    return { jwks } as const
  })
}) {}
