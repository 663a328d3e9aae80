import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import type { TokenId } from "@posthorn/domain/Ids"
import { ApiTokensRepo } from "@posthorn/persistence/repositories/ApiTokensRepo"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Context, Effect, Fiber, Layer, Option, Redacted, Schedule, TestContext } from "effect"
import { Identities } from "../src/Identities.ts"
import * as TokenText from "../src/TokenText.ts"
import { forged, identitiesThat, makeToken } from "./SampleTokens.ts"

/** The number of tokens that each statement looked up. */
class Statements extends Context.Tag("@posthorn/capabilities/test/Statements")<Statements, Array<number>>() {}

const counted = Layer.effect(
  ApiTokensRepo,
  Effect.gen(function* () {
    const repo = yield* ApiTokensRepo
    const statements = yield* Statements
    return {
      ...repo,
      findIdentities: (tokenIds: ReadonlyArray<string>) => {
        statements.push(tokenIds.length)
        return repo.findIdentities(tokenIds)
      }
    } as ApiTokensRepo
  })
).pipe(Layer.provide(ApiTokensRepo.Default))

/** A new cache each time. */
const identities = Effect.provide(
  Identities,
  Identities.DefaultWithoutDependencies.pipe(Layer.provide(counted))
)

const HOUR_MS = 3_600_000

/** Sets this process's wall clock until the scope ends. */
const wallClockOff = (ms: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { now } = Date
      Date.now = () => now() + ms
      return now
    }),
    (now) =>
      Effect.sync(() => {
        Date.now = now
      })
  )

const test = layer(
  Layer.provideMerge(
    TestPg,
    Layer.sync(Statements, () => [] as Array<number>)
  ),
  {
    excludeTestServices: true
  }
)

test("identities", (it) => {
  it.effect("§5.1 20,000 forged tokens cost some 20 statements, and a valid one among them is accepted", () =>
    Effect.gen(function* () {
      const statements = yield* Statements
      statements.length = 0
      const { id, text } = yield* makeToken
      const { identify } = yield* identities
      const asked = [
        ...Array.from({ length: 10_000 }, forged),
        text,
        ...Array.from({ length: 10_000 }, forged)
      ]

      const found = yield* Effect.forEach(asked, identify, { concurrency: "unbounded" })

      expect(found.filter((identity) => identity !== undefined).map(({ tokenId }) => tokenId)).toEqual([id])
      expect(statements.reduce((sum, count) => sum + count)).toBe(20_001)
      expect(statements.length).toBeLessThan(30)
      expect(Math.max(...statements)).toBeLessThanOrEqual(1_000)
    })
  )

  it.effect("§5.1 each refusal costs one look-up, whatever is wrong with the token", () =>
    Effect.gen(function* () {
      const statements = yield* Statements
      const sql = yield* SqlClient
      const [idle, busy, revoked, expired] = yield* Effect.all([makeToken, makeToken, makeToken, makeToken])
      yield* sql`update posthorn.api_tokens set revoked_at = now() where id = ${revoked.id}`
      yield* sql`update posthorn.api_tokens set expires_at = now() - interval '1 hour' where id = ${expired.id}`
      // Another process, which has not looked up any of the others.
      const refusing = yield* identities
      yield* refusing.identify(busy.text)
      const otherSecret = ({ id }: { readonly id: TokenId }) => Redacted.value(TokenText.issue(id).text)
      const wrong = {
        unknown: forged,
        "wrong secret, idle": () => otherSecret(idle),
        "wrong secret, in use": () => otherSecret(busy),
        revoked: () => revoked.text,
        "wrong secret, revoked": () => otherSecret(revoked),
        expired: () => expired.text
      }
      const costs: Record<string, ReadonlyArray<number>> = {}

      for (const [kind, token] of Object.entries(wrong)) {
        statements.length = 0
        for (let n = 0; n < 5; n++) expect(yield* refusing.identify(token()), kind).toBeUndefined()
        costs[kind] = [...statements]
      }

      expect(costs).toEqual(Object.fromEntries(Object.keys(wrong).map((kind) => [kind, Array(5).fill(1)])))
    }).pipe(Effect.orDie)
  )

  it.effect("§5.1 only an accepted call counts as use of a token: a wrong secret leaves no trace", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const [token, revoked] = [yield* makeToken, yield* makeToken]
      yield* sql`update posthorn.api_tokens set revoked_at = now() where id = ${revoked.id}`
      const usedAt = Effect.map(
        sql<{ used: number }>`select count(last_used_at)::integer as used from posthorn.api_tokens
          where id in (${token.id}, ${revoked.id})`,
        ([row]) => row!.used
      )
      const { identify } = yield* identities

      yield* identify(Redacted.value(TokenText.issue(token.id).text))
      yield* identify(revoked.text)
      yield* identify(token.text)
      yield* usedAt.pipe(Effect.repeat({ until: (used) => used > 0 }), Effect.timeout("30 seconds"))

      expect(yield* usedAt).toBe(1)
    }).pipe(Effect.orDie)
  )

  it.effect("§5.1 forged tokens do not displace known ones from the cache", () =>
    Effect.gen(function* () {
      const { text } = yield* makeToken
      const answers = yield* Effect.makeLatch(true)
      const { identify } = yield* identitiesThat({ lookUp: (rows) => answers.whenOpen(rows) })
      yield* identify(text)
      yield* Effect.forEach(Array.from({ length: 12_000 }, forged), identify, { concurrency: "unbounded" })
      yield* answers.close

      const known = yield* Effect.fork(identify(text))
      yield* Effect.repeatN(Effect.yieldNow(), 100)

      const exit = yield* Fiber.poll(known)
      expect(Option.getOrUndefined(exit)).toMatchObject({ _tag: "Success", value: { scopes: ["read"] } })
      // The clock stands still, so that the cache does not expire however long this takes.
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("§5.1 the first caller may leave, and the others still get their answer", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* makeToken, yield* makeToken]
      const { identify } = yield* identities

      const gone = yield* Effect.fork(identify(first.text))
      const stays = yield* Effect.fork(identify(second.text))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(gone)

      expect(yield* Fiber.join(stays)).toMatchObject({ tokenId: second.id })
    })
  )

  it.scoped("§5.1 a revoked token is refused, although the server's clock was set back meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { id, text } = yield* makeToken
      const { identify } = yield* identities
      expect(yield* identify(text)).toMatchObject({ tokenId: id })

      yield* wallClockOff(-HOUR_MS)
      yield* sql`update posthorn.api_tokens set revoked_at = clock_timestamp() where id = ${id}`

      const gone = Effect.repeat(
        Effect.suspend(() => identify(text)),
        {
          until: (found) => found === undefined,
          schedule: Schedule.spaced("100 millis")
        }
      )
      expect(Option.isSome(yield* Effect.timeoutOption(gone, "30 seconds"))).toBe(true)
    })
  )

  it.scoped("§3.4 the database's clock decides whether a token has expired", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const [good, over] = [yield* makeToken, yield* makeToken]
      yield* sql`update posthorn.api_tokens set expires_at = clock_timestamp() + interval '10 minutes' where id = ${good.id}`
      yield* sql`update posthorn.api_tokens set expires_at = clock_timestamp() - interval '10 minutes' where id = ${over.id}`

      yield* wallClockOff(HOUR_MS)
      expect(yield* Effect.flatMap(identities, ({ identify }) => identify(good.text))).toMatchObject({
        tokenId: good.id
      })
      yield* wallClockOff(-HOUR_MS)
      expect(yield* Effect.flatMap(identities, ({ identify }) => identify(over.text))).toBeUndefined()
    })
  )

  it.effect("§5.1 a cached token is refused once it has expired", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { id, text } = yield* makeToken
      yield* sql`update posthorn.api_tokens set expires_at = clock_timestamp() + interval '250 milliseconds' where id = ${id}`
      const over = sql<{
        over: boolean
      }>`select expires_at <= clock_timestamp() as over from posthorn.api_tokens
        where id = ${id}`
      const { identify } = yield* identities
      yield* identify(text)

      yield* Effect.repeat(over, { until: ([row]) => row!.over, schedule: Schedule.spaced("5 millis") })

      expect(yield* Effect.suspend(() => identify(text))).toBeUndefined()
    })
  )
})
