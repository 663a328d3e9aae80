/**
 * Verifies API tokens, at a cost that forged tokens cannot raise.
 *
 * A token's identity is cached for `REMEMBERED_MS`, so that revoking takes effect everywhere within a second, and a busy token
 * costs two look-ups a second. Other tokens are looked up together: those that arrive while `STATEMENTS` statements are under
 * way wait for the next one, which takes up to `TOKENS_AT_ONCE`. So 20,000 forged tokens cost 20 statements on two connections,
 * and a valid one among them passes with its statement. Unknown tokens are not cached: they would evict known ones.
 *
 * Every refusal costs one look-up and the same comparisons, whether the id is unknown, revoked, expired, in use, or has a wrong
 * secret. So the time of a refusal does not reveal which tokens exist.
 *
 * The database's clock decides whether a token has expired; a monotonic clock measures how long it is cached. So a server with
 * a wrong wall clock neither refuses a valid token nor accepts an expired one. Source: spec §5.1.
 */
import type { TokenId } from "@posthorn/domain/Ids"
import { permissionsOf } from "@posthorn/domain/Permission"
import { ApiTokensRepo, type TokenIdentity } from "@posthorn/persistence/repositories/ApiTokensRepo"
import { elapsed, elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Clock, Deferred, Effect } from "effect"
import { LRUCache } from "lru-cache"
import * as TokenText from "./TokenText.ts"

const REMEMBERED_MS = 500
/** During a refresh, calls use the cached identity: no call of a busy token waits, and none overtakes another. */
const KNOWN_AT_MOST_MS = 900
const REMEMBERED_TOKENS = 10_000
const MINUTE_MS = 60_000
const STATEMENTS = 2
const TOKENS_AT_ONCE = 1_000

export interface Identity extends TokenIdentity {
  readonly permissions: ReturnType<typeof permissionsOf>
}

interface Remembered {
  readonly identity: Identity
  readonly readAt: number
  /** When it expires. Infinite for a token without an expiry, and for one that had already expired at the look-up. */
  readonly openUntil: number
  /** When to refresh it; never while a refresh is under way. */
  readonly until: number
}

interface Batch {
  readonly tokenIds: Set<string>
  readonly rows: Deferred.Deferred<ReadonlyMap<string, TokenIdentity>>
}

/** A look-up under way, and the count of invalidations when it began. */
interface Asking {
  readonly before: number
  readonly answer: Deferred.Deferred<Identity | undefined>
}

/** Compared with if nothing is found. */
const NOTHINGS_HASH = TokenText.hashSecret("")

const isOpen = ({ leftMs, revokedAt }: Identity) => revokedAt === null && (leftMs === null || leftMs > 0)

/** Whether this secret matches the row. It is compared in any case, so that the time is the same. */
const opens = (found: Identity | undefined, secret: string): found is Identity => {
  const isProven = TokenText.matches(secret, found?.secretHash ?? NOTHINGS_HASH)
  return found !== undefined && isProven && isOpen(found)
}

export class Identities extends Effect.Service<Identities>()("@posthorn/capabilities/Identities", {
  dependencies: [ApiTokensRepo.Default],
  effect: Effect.gen(function* () {
    const tokens = yield* ApiTokensRepo
    const statements = yield* Effect.makeSemaphore(STATEMENTS)
    const remembered = new LRUCache<string, Remembered>({ max: REMEMBERED_TOKENS })
    const touched = new LRUCache<string, number>({ max: REMEMBERED_TOKENS })
    const clock = yield* Effect.clock
    let forgotten = 0
    let filling: Batch | undefined
    const asking = new Map<TokenId, Asking>()

    /** Discards cached identities, and the results of look-ups under way. */
    const forgetAll = Effect.sync(() => {
      forgotten++
      remembered.clear()
    })

    const remember = (tokenId: TokenId, identity: Identity, readAt: number) => {
      const { leftMs } = identity
      remembered.set(tokenId, {
        identity,
        readAt,
        until: readAt + REMEMBERED_MS,
        openUntil: leftMs === null || leftMs <= 0 ? Number.POSITIVE_INFINITY : readAt + leftMs
      })
    }

    /** `lastUsedAt` has minute precision, so more than one write a minute would change nothing. */
    const isFirstThisMinute = (tokenId: TokenId) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const minute = Math.floor(now / MINUTE_MS)
        if (touched.get(tokenId) === minute) return false
        touched.set(tokenId, minute)
        return true
      })

    const send = (batch: Batch) =>
      Effect.suspend(() => {
        if (filling === batch) filling = undefined
        return tokens.findIdentities([...batch.tokenIds])
      }).pipe(
        Effect.map((rows) => new Map(rows.map((row) => [row.tokenId, row]))),
        statements.withPermits(1),
        Effect.intoDeferred(batch.rows)
      )

    /** The row of this token, looked up together with others that are requested until the statement starts. */
    const find = (tokenId: TokenId) =>
      Effect.gen(function* () {
        const isNew = filling === undefined || filling.tokenIds.size >= TOKENS_AT_ONCE
        const batch: Batch = isNew
          ? { tokenIds: new Set(), rows: yield* Deferred.make<ReadonlyMap<string, TokenIdentity>>() }
          : filling!
        filling = batch
        batch.tokenIds.add(tokenId)
        // In its own fiber: the first caller may be interrupted while others still wait for the answer.
        if (isNew) yield* Effect.forkDaemon(send(batch))
        return (yield* Deferred.await(batch.rows)).get(tokenId)
      })

    const ask = (tokenId: TokenId, before: number) =>
      Effect.gen(function* () {
        const readAt = yield* elapsedNow
        const found = yield* find(tokenId)
        if (found === undefined) return undefined
        const identity: Identity = { ...found, permissions: permissionsOf(found.scopes) }
        if (forgotten === before) remember(tokenId, identity, readAt)
        return identity
      })

    /** With two look-ups under way, the later one might be answered first, and its caller overtake the other. */
    const lookUp = (tokenId: TokenId) =>
      Effect.gen(function* () {
        const asked = asking.get(tokenId)
        if (asked?.before === forgotten) return yield* Deferred.await(asked.answer)
        const mine = { before: forgotten, answer: yield* Deferred.make<Identity | undefined>() }
        asking.set(tokenId, mine)
        const over = Effect.sync(() => asking.get(tokenId) === mine && asking.delete(tokenId))
        yield* Effect.forkDaemon(
          Effect.intoDeferred(Effect.ensuring(ask(tokenId, mine.before), over), mine.answer)
        )
        return yield* Deferred.await(mine.answer)
      })

    const cached = (tokenId: TokenId, now: number) => {
      const known = remembered.get(tokenId)
      return known !== undefined && now < Math.min(known.readAt + KNOWN_AT_MOST_MS, known.openUntil)
        ? known
        : undefined
    }

    /** Continues when the caller is interrupted. */
    const beside = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkDaemon(Effect.ignore(effect))

    /** Refreshes in time; meanwhile calls use the cached identity. */
    const refresh = (tokenId: TokenId, known: Remembered) => {
      remembered.set(tokenId, { ...known, until: Number.POSITIVE_INFINITY })
      return beside(lookUp(tokenId))
    }

    const letIn = (identity: Identity): Effect.Effect<Identity> =>
      Effect.flatMap(isFirstThisMinute(identity.tokenId), (isFirst) =>
        isFirst
          ? Effect.as(beside(tokens.touch(identity.workspaceId, identity.tokenId)), identity)
          : Effect.succeed(identity)
      )

    /** The identity of this token; undefined if it is malformed, unknown, revoked or expired, or its secret is wrong. */
    const identify = (token: string): Effect.Effect<Identity | undefined> =>
      Effect.suspend(() => {
        const parts = TokenText.read(token)
        if (parts === undefined) return Effect.succeed(undefined)
        const { secret, tokenId } = parts
        const now = elapsed(clock)
        const known = cached(tokenId, now)
        if (opens(known?.identity, secret) && known !== undefined)
          return now < known.until
            ? letIn(known.identity)
            : Effect.zipRight(refresh(tokenId, known), letIn(known.identity))
        return Effect.flatMap(lookUp(tokenId), (found) =>
          opens(found, secret) ? letIn(found) : Effect.succeed(undefined)
        )
      })

    /** The identity of a token that needs no look-up. */
    const recall = (token: string): Identity | undefined => {
      const parts = TokenText.read(token)
      const known = parts === undefined ? undefined : cached(parts.tokenId, elapsed(clock))
      return known !== undefined && opens(known.identity, parts!.secret) ? known.identity : undefined
    }

    return { forgetAll, identify, recall } as const
  })
}) {}
