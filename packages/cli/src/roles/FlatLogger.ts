/**
 * One flat JSON object for each line of the log: `timestamp`, `level`, `message` (text), annotations (`traceId`, `endpointId`,
 * …), and `error` with its stack. Log readers can rely on these members.
 */
import { Cause, HashMap, Inspectable, Logger } from "effect"

const RESERVED: ReadonlySet<string> = new Set(["timestamp", "level", "message", "error"])

const textOf = (part: unknown): string =>
  typeof part === "string"
    ? part
    : part instanceof Error
      ? part.message
      : Inspectable.toStringUnknown(part, 0)

/** A message's other parts: errors and facts. */
const partsOf = (message: unknown) => {
  const parts = Array.isArray(message) ? message : [message]
  const errors = parts.filter((part) => part instanceof Error || Cause.isCause(part))
  const facts = parts.filter((part) => !errors.includes(part) && typeof part === "object" && part !== null)
  const words = parts.filter((part) => !errors.includes(part) && !facts.includes(part))
  return { words: words.map(textOf).join(" "), facts: Object.assign({}, ...facts) as object, errors }
}

const stackOf = (error: unknown): string =>
  Cause.isCause(error)
    ? Cause.pretty(error, { renderErrorCause: true })
    : Cause.pretty(Cause.fail(error), { renderErrorCause: true })

export const flatLogger = Logger.make<unknown, string>(({ annotations, cause, date, logLevel, message }) => {
  const { errors, facts, words } = partsOf(message)
  const why = [...errors.map(stackOf), ...(Cause.isEmpty(cause) ? [] : [stackOf(cause)])]
  const more = Object.entries({ ...facts, ...Object.fromEntries(HashMap.toEntries(annotations)) })
  return JSON.stringify({
    timestamp: date.toISOString(),
    level: logLevel.label.toLowerCase().replace(/^warn$/, "warning"),
    message: words,
    ...Object.fromEntries(more.map(([name, value]) => [RESERVED.has(name) ? `${name}_` : name, value])),
    ...(why.length > 0 && { error: why.join("\n") })
  })
})
