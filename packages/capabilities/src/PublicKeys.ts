/** The public keys of a workspace as a JWK Set, open to everybody. Source: spec §2.9. */
import { isSlug } from "@posthorn/domain/Slug"
import { PublicKeysRepo } from "@posthorn/persistence/repositories/PublicKeysRepo"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Cache, Context, Effect } from "effect"

/** How often it is asked which sets may have changed; nobody waits longer for a new key. Tests always ask. */
export class KeySetsChecked extends Context.Reference<KeySetsChecked>()(
  "@posthorn/capabilities/KeySetsChecked",
  { defaultValue: () => ({ everyMs: 1_000 }) }
) {}

const KEPT = "5 minutes"

/** Longer than from an audit event until it is committed. */
const COMMITTED_MS = 30_000

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

    const { everyMs } = yield* KeySetsChecked
    // Uninterruptible, because others wait for it too.
    const kept = yield* Cache.make({
      capacity: SETS,
      timeToLive: KEPT,
      lookup: (slug: string) =>
        Effect.map(Effect.uninterruptible(repo.ofWorkspace(slug)), (found = []) => ({
          keys: found.flatMap(({ current, endpointId, previous }) => [
            jwk(endpointId, current),
            ...(previous === null ? [] : [jwk(`${endpointId}.previous`, previous)])
          ])
        }))
    })

    let checkedAt = yield* elapsedNow
    const check = Effect.gen(function* () {
      const now = yield* elapsedNow
      const slugs = yield* repo.changedWithin(Math.ceil(now - checkedAt) + COMMITTED_MS)
      yield* Effect.forEach(slugs, (slug) => kept.invalidate(slug), { discard: true })
      checkedAt = now
    })
    const checked = yield* Effect.cachedWithTTL(Effect.uninterruptible(check), everyMs)

    /**
     * Within the grace window of a rotation the previous keys too. A workspace that does not exist has no keys, like one that has
     * none, and is looked up like one that exists. Look-ups in flight are shared.
     */
    const jwks = (slug: string) =>
      isSlug(slug) ? Effect.zipRight(checked, kept.get(slug)) : Effect.succeed({ keys: [] })

    return { jwks } as const
  })
}) {}
