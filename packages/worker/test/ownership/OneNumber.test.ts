/** Numbers that stand both in SQL and in TypeScript, because neither can read the other. */
import { readFileSync } from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { RATE_LONGEST_SECONDS } from "@posthorn/domain/DeliveryPolicy"
import { BODY_LIMIT } from "@posthorn/domain/Errors"
import { RESERVED } from "@posthorn/domain/EventType"
import { FAILING_FOR_LEAST, FailureDetail, FailureReason, isUncounted } from "@posthorn/domain/Verdict"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"
import { CLOCK_ERROR_MS } from "../../src/dispatcher/SlidingWindow.ts"
import { LEASE_TIMEOUT_MS } from "../../src/ownership/Shards.ts"
import { OUTLIVES_ITS_LEASE_MS } from "../simulation/ShardTable.ts"

const migration = (name: string) =>
  readFileSync(new URL(`../../../persistence/migrations/${name}`, import.meta.url), "utf8")

const value = (query: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql.unsafe<{ value: unknown }>(`select ${query} as value`), ([row]) => row!.value)
  )

const found = (text: string, pattern: RegExp) => pattern.exec(text)?.[1]

layer(TestPg)("a number that stands in SQL and in TypeScript", (it) => {
  it.effect("§3.5 an owner that lost its shard starts attempts until its lease times out, by its clock", () =>
    Effect.gen(function* () {
      const ms = yield* value("(extract(epoch from posthorn.outlives_its_lease()) * 1000)::integer")
      assert.strictEqual(ms, LEASE_TIMEOUT_MS + CLOCK_ERROR_MS)
      assert.strictEqual(ms, OUTLIVES_ITS_LEASE_MS)
    })
  )

  it("§3.1 the failure reasons are the same, and so are those that no streak counts", () => {
    const names = (quoted: string) => [...quoted.matchAll(/'(\w+)'/g)].map(([, name]) => name!)
    const reasons = found(
      migration("0001_tables.sql"),
      /domain posthorn\.failure_reason as text[^(]*\(value in \(([^)]*)\)/
    )!
    assert.sameMembers(names(reasons), [...FailureReason.literals])
    const details = found(
      migration("0001_tables.sql"),
      /domain posthorn\.failure_detail as text[^(]*\(value in \(([^)]*)\)/
    )!
    assert.sameMembers(names(details), [...FailureDetail.literals])
    const uncounted = found(migration("0003_record.sql"), /failure_reason not in \(([^)]*)\)/)!
    assert.sameMembers(names(uncounted), FailureReason.literals.filter(isUncounted))
  })

  it("§4.1 the prefixes that only Posthorn's own events have are the same", () => {
    const [, prefixes] = /event_type ~ '\^\(([a-z_|]+)\)\\\.'/.exec(migration("0002_publish.sql"))!
    assert.sameMembers(
      prefixes!.split("|").map((prefix) => `${prefix}.`),
      [...RESERVED]
    )
  })

  it("§4.1 a payload from SQL may have as many bytes as a request's body", () => {
    const [, limit] = /octet_length\(payload\) > (\d+)/.exec(migration("0002_publish.sql"))!
    assert.strictEqual(Number(limit), BODY_LIMIT)
    assert.include(migration("0002_publish.sql"), `'The payload may have at most ${BODY_LIMIT} bytes'`)
    const spec = readFileSync(new URL("../../../../docs/spec.md", import.meta.url), "utf8")
    assert.include(spec, `at most ${BODY_LIMIT.toLocaleString("en")} bytes`)
  })

  it("§3.4 an endpoint is not disabled for having failed long before the same number of failures", () => {
    const least = found(migration("0003_record.sql"), /failing_for_least constant integer := (\d+)/)
    assert.strictEqual(Number(least), FAILING_FOR_LEAST)
  })

  it("§3.5 starts are kept for longer than the longest window of a rate limit", () => {
    const minutes = found(migration("0004_engine.sql"), /interval '(\d+) minutes'/)
    assert.isAbove(Number(minutes) * 60, RATE_LONGEST_SECONDS + 2)
  })

  it.effect("§3.4 the meters' help and the documents name the number of shards", () =>
    Effect.gen(function* () {
      const count = yield* value("posthorn.shard_count()")
      const meters = readFileSync(new URL("../../src/EngineMeters.ts", import.meta.url), "utf8")
      assert.include(meters, `all workers together hold ${count}.`)
      for (const name of ["operate.md", "adr/0010-engine.md"]) {
        const text = readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8")
        assert.include(text, `${count} shards`)
      }
    })
  )
})
