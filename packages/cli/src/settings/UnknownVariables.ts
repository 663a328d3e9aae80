/**
 * Variables that look as if they were meant for Posthorn and that it does not know: a mistyped name would otherwise be
 * obeyed by nobody and noticed by nobody. Only names are looked at, never values; they warn and do not stop the start.
 * Source: spec §10.
 */
import { nearest } from "@posthorn/domain/Spelling"

const PREFIXES = /^(DELIVERY|WORKER|RATE_LIMIT|LIMIT|POSTHORN|CONSOLE|ENCRYPTION|OPERATOR)_/

/** What Kubernetes sets for a service that is called posthorn, and what npm and our own tests set. */
const OTHERS = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_\w+)$|^POSTHORN_TEST_/

/** Names shorter than this are too much like other programs' for a guess. */
const SHORTEST_GUESS = 8
const MOST_EDITS = 2

const mostEdits = (word: string) => Math.max(MOST_EDITS, Math.floor(word.length / 5))

/** One line for each variable that is set and not known, though it looks like one of ours. */
export const unknownVariables = (
  set: ReadonlyArray<string>,
  known: ReadonlyArray<string>
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
        !set.includes(near.other)
      if (!ours && !mistyped) return []
      const guess =
        near === undefined ? "see docs/settings.md for those it knows" : `did you mean ${near.other}?`
      return [`${name} is set, but Posthorn knows no such variable: ${guess}`]
    })

/** NODE_ENV means something only when it is `production`; what looks like an attempt at that gets a line. */
export const oddNodeEnv = (value: string | undefined): ReadonlyArray<string> =>
  value === undefined || ["", "production", "development", "test"].includes(value)
    ? []
    : [`NODE_ENV is "${value}", which means nothing to Posthorn: did you mean production?`]
