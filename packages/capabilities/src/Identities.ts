/**
 * Knowing an API token again, at a cost that forged ones cannot raise.
 *
 * What a token opens is remembered for `REMEMBERED_MS`, so that revoking is effective everywhere within a second and a
 * busy token costs two look-ups a second. Tokens that are not remembered are looked up together: whatever arrives while
 * `STATEMENTS` are under way waits for the next one, and shares it with up to `TOKENS_AT_ONCE` others. So 20,000 forged
 * tokens cost 20 statements on two connections, and a valid one among them is let in with its own. Unknown tokens are not
 * remembered: they would push out the known.
 *
 * What is refused costs one look-up and the same comparisons, whether the id is nobody's, revoked, expired, in use at this moment, or
 * comes with a wrong secret: how long a refusal takes does not tell which tokens there are.
 *
 * Whether a token has expired is for the database's clock to say, as with everything that is due; how long it is remembered
 * is measured by a clock that only goes forward. So a server whose wall clock is wrong, or is set back, refuses nobody who
 * has a good token, and lets nobody in with one that is over. Source: spec §5.1.
 */
import type { TokenId } from "@posthorn/domain/Ids"
import { permissionsOf } from "@posthorn/domain/Permission"
import { ApiTokensRepo, type TokenIdentity } from "@posthorn/persistence/repositories/ApiTokensRepo"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Clock, Deferred, Effect } from "effect"
import { LRUCache } from "lru-cache"
import * as TokenText from "./TokenText.ts"

const REMEMBERED_MS = 500
/** While it is asked for again, calls go on with what is known: no busy token's call waits, and none overtakes another. */
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
  /** When it was asked for. */
  readonly readAt: number
  /** When it expires; never for a token without an end, nor for one that was over when it was asked for, and stays so. */
  readonly openUntil: number
  /** When to ask again; never while that is under way. */
  readonly until: number
}

/** Tokens that one statement will look up; it takes more until it starts. */
interface Batch {
  readonly tokenIds: Set<string>
  readonly rows: Deferred.Deferred<ReadonlyMap<string, TokenIdentity>>
}

/** A look-up under way, and what was forgotten when it began. */
interface Asking {
  readonly before: number
  readonly answer: Deferred.Deferred<Identity | undefined>
}

/** Stands in for what a token is compared with when nothing is found. */
const NOTHINGS_HASH = TokenText.hashSecret("")

const isOpen = ({ leftMs, revokedAt }: Identity) => revokedAt === null && (leftMs === null || leftMs > 0)

/** Whether this secret opens what was found. It is compared whatever was found: that takes no less time. */
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
    let forgotten = 0
    let filling: Batch | undefined
    const asking = new Map<TokenId, Asking>()

    /** What was looked up before is not trusted again, nor is what is being looked up now. */
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

    /** `lastUsedAt` is to the minute: more than one write a minute would change nothing. */
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

    /** The row of this token, with as many others as are asked for until the statement starts. */
    const find = (tokenId: TokenId) =>
      Effect.gen(function* () {
        const isNew = filling === undefined || filling.tokenIds.size >= TOKENS_AT_ONCE
        const batch: Batch = isNew
          ? { tokenIds: new Set(), rows: yield* Deferred.make<ReadonlyMap<string, TokenIdentity>>() }
          : filling!
        filling = batch
        batch.tokenIds.add(tokenId)
        // A fiber of its own: who asked first may go away, and the others still wait for the answer.
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

    /** Joins a look-up of this token that is under way: of two, the later might be answered first, and its caller overtake. */
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

    /** What is remembered of a token, while it may be used. */
    const recall = (tokenId: TokenId, now: number) => {
      const known = remembered.get(tokenId)
      return known !== undefined && now < Math.min(known.readAt + KNOWN_AT_MOST_MS, known.openUntil)
        ? known
        : undefined
    }

    /** Runs on when the caller has gone. */
    const beside = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkDaemon(Effect.ignore(effect))

    /** Asks again in good time; calls use what is remembered meanwhile. */
    const refresh = (tokenId: TokenId, known: Remembered, now: number) => {
      if (now < known.until) return Effect.void
      remembered.set(tokenId, { ...known, until: Number.POSITIVE_INFINITY })
      return beside(lookUp(tokenId))
    }

    const letIn = (identity: Identity): Effect.Effect<Identity> =>
      Effect.flatMap(isFirstThisMinute(identity.tokenId), (isFirst) =>
        isFirst
          ? Effect.as(beside(tokens.touch(identity.workspaceId, identity.tokenId)), identity)
          : Effect.succeed(identity)
      )

    /** Whose token this is; undefined when it is malformed, unknown, revoked or expired, or its secret is wrong. */
    const identify = (token: string): Effect.Effect<Identity | undefined> =>
      Effect.flatMap(elapsedNow, (now) => {
        const parts = TokenText.read(token)
        if (parts === undefined) return Effect.succeed(undefined)
        const { secret, tokenId } = parts
        const known = recall(tokenId, now)
        if (opens(known?.identity, secret) && known !== undefined)
          return Effect.zipRight(refresh(tokenId, known, now), letIn(known.identity))
        return Effect.flatMap(lookUp(tokenId), (found) =>
          opens(found, secret) ? letIn(found) : Effect.succeed(undefined)
        )
      })

    return { forgetAll, identify } as const
  })
}) {}
