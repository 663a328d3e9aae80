import { assert, describe, expect, it } from "@effect/vitest"
import {
  Cause,
  Chunk,
  Data,
  DateTime,
  Duration,
  Effect,
  Either,
  Exit,
  HashMap,
  HashSet,
  Option,
  Redacted,
  Schema
} from "effect"

class Refused extends Data.TaggedError("Refused")<{ status: number }> {}
class Lost extends Schema.TaggedError<Lost>()("Lost", { status: Schema.Number }) {}
class Point extends Schema.Class<Point>("Point")({ x: Schema.Number }) {}

/** Each makes a value of its number, so that equal ones are never the same object. */
const kinds: Record<string, (n: number) => unknown> = {
  presence: (n) => (n === 1 ? Option.some(1) : Option.none()),
  Option: (n) => Option.some({ n }),
  Left: (n) => Either.left(n),
  side: (n) => (n === 1 ? Either.left(1) : Either.right(1)),
  Success: (n) => Exit.succeed(n),
  Failure: (n) => Exit.fail(new Refused({ status: n })),
  Effect: (n) => Effect.succeed(n),
  Chunk: (n) => Chunk.make(n),
  Cause: (n) => Cause.fail(new Lost({ status: n })),
  kindOfCause: (n) => (n === 1 ? Cause.fail(1) : Cause.die(1)),
  Duration: (n) => Duration.seconds(n),
  DateTime: (n) => DateTime.unsafeMake(n),
  Redacted: (n) => Redacted.make(`secret ${n}`),
  HashMap: (n) => HashMap.make(["key", n]),
  HashSet: (n) => HashSet.make(n),
  Data: (n) => Data.struct({ n }),
  class: (n) => new Point({ x: n }),
  error: (n) => new Refused({ status: n }),
  errorOfSchema: (n) => new Lost({ status: n }),
  kindOfError: (n) => (n === 1 ? new Refused({ status: 1 }) : new Lost({ status: 1 })),
  Headers: (n) => new Headers({ n: String(n) }),
  URLSearchParams: (n) => new URLSearchParams({ n: String(n) })
}

const testers: Record<string, (one: unknown, other: unknown) => void> = {
  deepStrictEqual: (one, other) => assert.deepStrictEqual(one, other),
  nested: (one, other) => assert.deepStrictEqual({ list: [one] }, { list: [other] }),
  sameDeepMembers: (one, other) => assert.sameDeepMembers([one], [other]),
  toEqual: (one, other) => expect({ list: [one] }).toEqual({ list: [other] }),
  toStrictEqual: (one, other) => expect(one).toStrictEqual(other)
}

describe("EffectEquality", () => {
  for (const [kind, make] of Object.entries(kinds))
    it(`every tester sees a difference of: ${kind}`, () => {
      for (const [tester, compare] of Object.entries(testers)) {
        assert.doesNotThrow(() => compare(make(1), make(1)), undefined, tester)
        assert.throws(() => compare(make(1), make(2)), undefined, undefined, tester)
      }
      assert.throws(() => assert.notDeepEqual(make(1), make(1)))
    })
})
