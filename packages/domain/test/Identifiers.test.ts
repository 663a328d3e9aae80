import { assert, describe, it } from "@effect/vitest"
import { EventType, EventTypePattern, isReserved, patternsOf } from "@posthorn/domain/EventType"
import { newId, prefixes } from "@posthorn/domain/Ids"
import { continueTrace, newTraceId } from "@posthorn/domain/TraceId"
import { Schema } from "effect"

const isType = Schema.is(EventType)
const isPattern = Schema.is(EventTypePattern)

describe("Names", () => {
  it("§2.7 accepts dotted words as an event type", () => {
    for (const type of ["a", "invoice.paid", "A_1.b2.c", "x".repeat(128)]) assert.isTrue(isType(type), type)
    for (const type of ["", ".", "a.", ".a", "a..b", "a b", "a-b", "ä", "a.*", "*", "x".repeat(129)]) {
      assert.isFalse(isType(type), type)
    }
  })

  it("§4.3 accepts a type, a prefix.* or * as a pattern", () => {
    for (const pattern of ["*", "a", "a.*", "a.b.*"]) assert.isTrue(isPattern(pattern), pattern)
    for (const pattern of ["", "**", ".*", "a*", "a.*.b", "*.a", "a.**"])
      assert.isFalse(isPattern(pattern), pattern)
  })

  it("§6 matches a type by itself, by each shorter prefix, and by *", () => {
    assert.deepStrictEqual([...patternsOf("a.b.c")].sort(), ["*", "a.*", "a.b.*", "a.b.c"])
    assert.deepStrictEqual([...patternsOf("a")].sort(), ["*", "a"])
  })

  it("§4.3 reserves the prefixes of Posthorn's own events", () => {
    for (const type of ["webhook.x", "member.added", "api_token.created"]) assert.isTrue(isReserved(type))
    for (const type of ["webhook", "webhooks.x", "members.added"]) assert.isFalse(isReserved(type))
  })

  it("§2.7 makes ids that have their prefix and sort by creation", () => {
    const ids = Array.from({ length: 10_000 }, () => newId("delivery"))

    assert.deepStrictEqual([...ids].sort(), ids)
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const prefix of Object.values(prefixes)) assert.match(prefix, /^[a-z]{3}_$/)
    assert.match(ids[0]!, /^whd_[0-9a-f]{29}$/)
  })

  it("§7.1 continues a valid traceparent and nothing else", () => {
    const id = "4bf92f3577b34da6a3ce929d0e0e4736"
    const bad = [
      undefined,
      "",
      id,
      `00-${id}-00f067aa0ba902b7`,
      `ff-${id}-00f067aa0ba902b7-01`,
      `00-${id.toUpperCase()}-00f067aa0ba902b7-01`,
      `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
      `00-${id}-${"0".repeat(16)}-01`
    ]

    assert.strictEqual(continueTrace(`00-${id}-00f067aa0ba902b7-01`), id)
    for (const header of bad) {
      assert.match(continueTrace(header), /^[0-9a-f]{32}$/)
      assert.notStrictEqual(continueTrace(header), id)
    }
    assert.notStrictEqual(newTraceId(), newTraceId())
  })
})
