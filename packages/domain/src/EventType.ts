/**
 * Event types and the patterns endpoints subscribe with.
 *
 * A type is dotted words, at most 128 characters. A pattern is a type, `*`, or `prefix.*` (any deeper name, not the
 * prefix itself). Posthorn's own events have reserved prefixes that nobody else may publish.
 * Source: spec §2.7 and §4.3. `posthorn.patterns_of(type)` says the same in SQL, where matching happens.
 */
import { Schema } from "effect"

const WORD = "[A-Za-z0-9_]+"
const TYPE = new RegExp(`^${WORD}(\\.${WORD})*$`)
const PATTERN = new RegExp(`^(?:\\*|${WORD}(\\.${WORD})*(\\.\\*)?)$`)

const EVENT_TYPE_LIMIT = 128

export const EventType = Schema.String.pipe(
  Schema.maxLength(EVENT_TYPE_LIMIT),
  Schema.pattern(TYPE)
).annotations({
  identifier: "EventType",
  description:
    "Dotted words such as `invoice.paid`; letters, digits and underscores; at most 128 characters.",
  examples: ["invoice.paid"],
  message: () => "Expected dotted words such as invoice.paid, at most 128 characters"
})

export const isEventType = Schema.is(EventType)

export const EventTypePattern = Schema.String.pipe(
  Schema.maxLength(EVENT_TYPE_LIMIT),
  Schema.pattern(PATTERN)
).annotations({
  identifier: "EventTypePattern",
  description: "An event type, `*` for all, or `prefix.*` for every deeper name.",
  examples: ["invoice.*"],
  message: () => "Expected an event type such as invoice.paid, a prefix such as invoice.*, or *"
})

/** The synthetic event of a test send. Source: spec §6. */
export const TEST_EVENT = "webhook.test_event"

export const RESERVED = ["webhook.", "member.", "api_token."]

/** Whether only Posthorn itself may publish this type. */
export const isReserved = (type: string): boolean => RESERVED.some((prefix) => type.startsWith(prefix))

/** Every pattern that matches the type. */
export const patternsOf = (type: string): ReadonlyArray<string> => {
  const words = type.split(".")
  const prefixes = words.slice(1).map((_, index) => `${words.slice(0, index + 1).join(".")}.*`)
  return [type, "*", ...prefixes]
}
