/** What judging costs PostgreSQL, for the worst pairs of filter and payload that were found. Source: spec §6.3, docs/adr/0038-filters.md. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { atBest } from "@posthorn/testkit/AtBest"
import { workspace } from "@posthorn/testkit/Seeds"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"
import { filtered } from "./Filtered.ts"

const many = <A>(count: number, make: (at: number) => A) => Array.from({ length: count }, (_, at) => make(at))
const numbers = (count: number) => JSON.stringify({ a: many(count, (at) => at) })

const SMALL = JSON.stringify({
  type: "invoice",
  note: "x".repeat(700),
  data: { object: { amount: 1200, status: "paid", lines: [{ sku: "a" }, { sku: "b" }], country: "de" } }
})

const cases: Readonly<Record<string, { filters: ReadonlyArray<string>; payload: string; ms: number }>> = {
  "50 different filters on 1 KB": {
    filters: many(
      50,
      (at) => `{"data":{"object":{"status":"paid","amount":{"$gt":${at}},"lines":{"sku":"c"}}}}`
    ),
    payload: SMALL,
    ms: 1
  },
  "comparisons just below the limit": {
    filters: ['{"a":{"$in":[-1,-2,-3,-4]}}'],
    payload: numbers(13_000),
    ms: 20
  },
  "comparisons beyond the limit": {
    filters: [`{"a":{"$in":[${many(100, (at) => -at)}]}}`],
    payload: numbers(13_000),
    ms: 20
  },
  "ends of a long string": {
    filters: many(20, (at) => `{"s":{"$endsWith":"q${at}"}}`),
    payload: JSON.stringify({ s: "x".repeat(65_500) }),
    ms: 20
  },
  "a hundred names in each of many elements": {
    filters: many(10, (at) => `{${many(100, (name) => `"n${at}x${name}":1`)}}`),
    payload: `[${many(21_800, () => "{}")}]`,
    ms: 20
  },
  "numbers that take long to write out": {
    filters: many(5, (at) => `{"a":{"$in":[${many(100, (n) => `1e${131_071 - n - at}`)}]}}`),
    payload: `{"a":[[${numbers(5_000)}]]}`,
    ms: 20
  },
  "arrays 90 levels deep": {
    filters: ['{"a":{"b":1}}'],
    payload: `{"a":${"[".repeat(90)}${many(15_000, () => "[]")}${"]".repeat(90)}}`,
    ms: 20
  }
}

layer(TestPg, { excludeTestServices: true })("what filters cost", (it) => {
  for (const [name, { filters, ms, payload }] of Object.entries(cases))
    it.effect(`§6.3 ${name}: at most ${ms} ms`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { id } = yield* workspace()
        yield* Effect.forEach(filters, (filter) => filtered(id, filter))
        yield* sql`create or replace function posthorn.judging_ms(workspace text, payload text) returns float8 language plpgsql as $$
          declare audience posthorn.audience := posthorn.audience_of(workspace, 'a', null); began timestamptz := clock_timestamp();
          begin
            perform posthorn.sift(audience, payload, false);
            return extract(epoch from clock_timestamp() - began) * 1000;
          end $$`
        const took = yield* atBest(
          ms,
          Effect.map(
            sql<{ ms: number }>`select posthorn.judging_ms(${id}, ${payload}) as ms`,
            ([row]) => row!.ms
          ),
          (took) => took
        )
        expect(took).toBeLessThan(ms)
      })
    )
})
