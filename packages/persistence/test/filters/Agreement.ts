/** PostgreSQL's judge and a plain model of the spec's words agree on random pairs of filter and payload. */
import { compile, explained } from "@posthorn/domain/filter/Compile"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import { rows } from "@posthorn/testkit/Sql"
import { Effect, Either } from "effect"
import { because, holds, textOf } from "./Model.ts"
import { randomPairs } from "./Random.ts"

const AT_ONCE = 2000

/** The pairs on which they differ, and how many held. */
export const disagreements = (seed: number, pairs: number) =>
  Effect.gen(function* () {
    const next = randomPairs(seed)
    const differing: Array<object> = []
    let holding = 0
    for (let done = 0; done < pairs; done += AT_ONCE) {
      const cases = Array.from({ length: Math.min(AT_ONCE, pairs - done) }, () => {
        const { filter, payload } = next()
        const read = Either.getOrThrowWith(
          parseFilter(textOf(filter)),
          (issues) => new Error(`${textOf(filter)}: ${JSON.stringify(issues)}`)
        )
        return { filter, payload, text: textOf(payload), program: compile(read), why: explained(read) }
      })
      const answers = yield* rows<{ held: boolean; failing: number | null }>`
        select posthorn.filter_holds(posthorn.path_of(p.program, 0), p.program, j.judged) as held,
          posthorn.first_failing(g.explained, g.conditions, j.judged) as failing
        from rows from (unnest(${cases.map(({ program }) => program)}::text[]), unnest(${cases.map(({ text }) => text)}::text[]),
            unnest(${cases.map(({ why }) => why.path)}::text[]), unnest(${cases.map(({ why }) => String(why.conditions.length))}::integer[]))
          with ordinality as g(program, payload, explained, conditions, place)
        cross join lateral (select g.program::jsonb as program offset 0) p
        cross join lateral (select posthorn.judged(g.payload) as judged offset 0) j
        order by g.place`
      for (const [at, { filter, payload, text, why }] of cases.entries()) {
        const { failing, held } = answers[at]!
        const leaf = failing === null ? undefined : why.conditions[failing - 1]
        const actual = { held, because: leaf === undefined ? null : `${leaf.path} ${leaf.condition.text}` }
        const expected = { held: holds(filter, payload), because: because(filter, payload) }
        if (held) holding++
        if (actual.held !== expected.held || actual.because !== expected.because)
          differing.push({ filter: textOf(filter), payload: text, actual, expected, path: why.path })
      }
    }
    return { differing: differing.slice(0, 5), count: differing.length, holding }
  })
