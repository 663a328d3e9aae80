/**
 * The simulation's model repeats the rules of migrations/0002 to 0004. Here random calls are made to both, and every answer
 * must be the same.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Setting } from "../Setting.ts"
import { makeChance } from "../simulation/VirtualTime.ts"
import type { Database } from "./Database.ts"
import { modelDatabase } from "./ModelDatabase.ts"
import { postgresDatabase } from "./PostgresDatabase.ts"
import { firstDifference } from "./Twins.ts"

const SEEDS = Number(process.env.CONTRACT_SEEDS ?? 8)
const STEPS = 150

/** The owner that lost its locks goes on for so long, so its successor counts attempts of this time. */
const GOES_ON_MS = 4_500

/** Whether a frozen owner's attempts are still counted when the shard was quiet at first. */
const countsAfterQuiet = (database: Database) =>
  Effect.gen(function* () {
    const endpoint = yield* database.endpoint(1)
    yield* database.take(endpoint.shard, "frozen")
    yield* database.showLife("frozen")
    yield* database.take(endpoint.shard, "next")
    yield* database.clearDoubt(endpoint.shard, "next")
    yield* database.publish(endpoint)
    yield* database.pass(GOES_ON_MS / 2)
    const limited = { ...endpoint, mostUnrecorded: 10, requests: 3, perSeconds: 100 }
    const [starts] = yield* database.queue.startsSince([limited as never])
    return starts!.agesMs.length
  })

layer(Setting, { excludeTestServices: true })("the model and PostgreSQL", (it) => {
  it.scoped("§3.4 answer every call of the engine alike", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (let seed = 1; seed <= SEEDS; seed++) {
        yield* sql`truncate posthorn.queue, posthorn.dead_letters, posthorn.attempt_starts`
        yield* sql`update posthorn.shards set owner = null, in_doubt_until = null, in_doubt_snapshot = null,
          began = false, stopped_at = null`
        const difference = yield* firstDifference(
          makeChance(seed),
          yield* postgresDatabase,
          modelDatabase(),
          STEPS
        )
        if (difference !== null) assert.fail(`seed ${seed}: ${JSON.stringify(difference, null, 1)}`)
      }
    })
  )

  it.scoped("§3.5 an owner that lost its locks is counted although its shard was quiet at first", () =>
    Effect.gen(function* () {
      for (const database of [modelDatabase(), yield* postgresDatabase])
        assert.strictEqual(yield* countsAfterQuiet(database), 1)
    })
  )
})
