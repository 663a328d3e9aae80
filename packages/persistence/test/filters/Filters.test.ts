/** The judge of filters. Source: spec §6.3. */
import { expect, layer } from "@effect/vitest"
import { compile } from "@posthorn/domain/filter/Compile"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import { connect } from "@posthorn/testkit/Seeds"
import { rows } from "@posthorn/testkit/Sql"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Either } from "effect"
import { disagreements } from "./Agreement.ts"

const held = (filter: string, payloads: ReadonlyArray<string>) => {
  const program = compile(Either.getOrThrow(parseFilter(filter)))
  return Effect.map(
    rows<{
      held: boolean | null
    }>`select posthorn.filter_holds(posthorn.path_of(p.program, 0), p.program, posthorn.judged(payload)) as held
      from (select ${program}::jsonb as program offset 0) p cross join unnest(${payloads}::text[]) with ordinality as g(payload, place)
      order by place`,
    (answers) => answers.map(({ held }) => held)
  )
}

layer(TestPg, { excludeTestServices: true })("filters", (it) => {
  it.effect("§6.3 judges and explains 2,000 random payloads as the plain model does", () =>
    Effect.gen(function* () {
      const { count, differing, holding } = yield* disagreements(1, 2000)
      expect({ count, differing }).toEqual({ count: 0, differing: [] })
      expect(holding).toBeGreaterThan(300)
    })
  )

  it.effect("§6.3 lets through what jsonb cannot hold", () =>
    Effect.gen(function* () {
      const deep = "[".repeat(100_000) + "]".repeat(100_000)
      const payloads = [
        '{"a":"\\u0000"}',
        '{"a":"\\ud800"}',
        '{"a":1e131073}',
        '{"a":1e-16384}',
        deep,
        '{"a":2}'
      ]
      expect(yield* held('{"a":1}', payloads)).toEqual([true, true, true, true, true, false])
    })
  )

  it.effect("§6.3 judges numbers at the bounds of numeric, and arrays nested 100 deep", () =>
    Effect.gen(function* () {
      const nested = (inner: string) => "[".repeat(100) + inner + "]".repeat(100)
      expect(
        yield* held('{"a":{"$in":[1e131071,-1E-16383,0.0]}}', [
          '{"a":1E131071}',
          '{"a":-0.1e-16382}',
          '{"a":-0}'
        ])
      ).toEqual([true, true, true])
      expect(yield* held('{"a":1}', [nested('{"a":1}'), nested('{"a":2}'), nested("")])).toEqual([
        true,
        false,
        false
      ])
      expect(yield* held('{"$eq":1}', ["1", "[1]", "[[1]]", nested("1")])).toEqual([true, true, false, false])
    })
  )

  it.scoped("§6.3 counts the elements of a payload of 1 MiB in seconds", () =>
    Effect.gen(function* () {
      const query = yield* connect
      const payload = `{"a":[${"0,".repeat(520_000)}0]}`
      const program = compile(Either.getOrThrow(parseFilter('{"a":1}')))
      yield* query("set statement_timeout = '20s'")
      const [row] = yield* query(
        "select posthorn.work_of($1::jsonb, j, posthorn.elements_in((j).document)) as work from posthorn.judged($2) j",
        program,
        payload
      )
      expect(Number(row!.work)).toBeGreaterThan(520_000)
    })
  )
})
