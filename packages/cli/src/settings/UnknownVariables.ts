/**
 * Warns about unknown variables that seem meant for Posthorn: a mistyped name would otherwise be ignored silently. Only names
 * are examined, never values. They do not stop the start.
 * Source: spec §10.
 */
import { nearest } from "@posthorn/domain/Spelling"

const PREFIXES = /^(DELIVERY|WORKER|RATE_LIMIT|LIMIT|POSTHORN|CONSOLE|ENCRYPTION|OPERATOR)_/

/** Variables that Kubernetes sets for a service named posthorn, and those of npm and our own tests. */
const OTHERS = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_\w+)$|^POSTHORN_TEST_/

/** Shorter names are too similar to other programs' variables for a guess. */
const SHORTEST_GUESS = 8
const MOST_EDITS = 2

const mostEdits = (word: string) => Math.max(MOST_EDITS, Math.floor(word.length / 5))

/**
 * One line for each unknown variable that resembles one of ours. Without `besides`, one that stands beside the variable that it
 * resembles is taken for another program's.
 */
export const unknownVariables = (
  set: ReadonlyArray<string>,
  known: ReadonlyArray<string>,
  besides?: "beside the right one"
): ReadonlyArray<string> =>
  set
    .filter((name) => !known.includes(name) && !OTHERS.test(name))
    .flatMap((name) => {
      const near = nearest(name, known, mostEdits)
      const ours = PREFIXES.test(name)
      const mistyped =
        near !== undefined &&
        near.apart <= MOST_EDITS &&
        name.length >= SHORTEST_GUESS &&
        (besides !== undefined || !set.includes(near.other))
      if (!ours && !mistyped) return []
      const guess =
        near === undefined ? "see docs/settings.md for those it knows" : `did you mean ${near.other}?`
      return [`${name} is set, but Posthorn knows no such variable: ${guess}`]
    })

/** NODE_ENV has a meaning only if it is `production`; a value that resembles it gets a line. */
export const oddNodeEnv = (value: string | undefined): ReadonlyArray<string> =>
  value === undefined || ["", "production", "development", "test"].includes(value)
    ? []
    : [`NODE_ENV is "${value}", which means nothing to Posthorn: did you mean production?`]
