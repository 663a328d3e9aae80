/** Findings about subscriptions that no published event matches. */

import { isReserved, patternsOf, TEST_EVENT } from "../../EventType.ts"
import { edits } from "../../Spelling.ts"
import type { Evidence } from "../DiagnosisEvidence.ts"
import type { Finding } from "../Finding.ts"
import { fixEventTypes, person, seeTypes } from "./Steps.ts"

const SHOWN = 5
/** Most letters in which a misspelt type may differ from the intended one. */
const SLIPS = 2

/** Words whose lengths differ by more are not compared: there may be thousands of types. */
const isSlip = (a: string, b: string) => Math.abs(a.length - b.length) <= SLIPS && edits(a, b, SLIPS) <= SLIPS

const ending = /\.\*$/

/** The published type that an unmatched pattern may have meant. */
const meant = (pattern: string, types: ReadonlyArray<string>) => {
  const words = pattern.split(".").length - (ending.test(pattern) ? 1 : 0)
  const wanted = pattern.replace(ending, "").toLowerCase()
  return types.find((type) => {
    const start = ending.test(pattern) ? type.split(".").slice(0, words).join(".") : type
    return isSlip(wanted, start.toLowerCase())
  })
}

const named = (types: ReadonlyArray<string>) => {
  const more = types.length - SHOWN
  return `${types.slice(0, SHOWN).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

const MATCH = { reason: null, failureDetail: null, httpStatus: null, inARow: 0, deliveryIds: [] } as const

/** Undefined if something matches and nothing seems misspelt, or if nothing was published. */
export const unmatched = (evidence: Evidence): Finding | undefined => {
  const { attempts, changes, endpoint, published } = evidence
  const types = published.filter((type) => !isReserved(type))
  if (!endpoint.enabled || types.length === 0 || endpoint.eventTypes.includes("*")) return undefined
  const matching = new Set(types.flatMap(patternsOf))
  const idle = endpoint.eventTypes.filter((pattern) => !matching.has(pattern) && !isReserved(pattern))
  const wanted = new Set(endpoint.eventTypes)
  const ignored = types.filter((type) => !patternsOf(type).some((pattern) => wanted.has(pattern)))
  const guesses = idle.flatMap((pattern) => {
    const type = meant(pattern, ignored)
    return type === undefined ? [] : [`${pattern} looks like ${type}`]
  })
  const nothing = idle.length === endpoint.eventTypes.length
  if (!nothing && guesses.length === 0) return undefined
  const change = changes.find(
    ({ action, fields }) => action === "webhook.endpoint_updated" && fields.includes("eventTypes")
  )
  const worked = attempts.some(({ at, eventType }) => eventType !== TEST_EVENT && at < (change?.at ?? ""))
  const before = nothing && worked ? change : undefined
  const said = guesses.length === 0 ? "" : ` ${guesses.join("; ")}.`
  return {
    ...MATCH,
    code: nothing ? "nothing_matches" : "misspelt_subscription",
    summary: nothing
      ? `${before === undefined ? "None of its subscriptions matches anything that is published" : "Since its subscriptions were changed, nothing that is published matches them"}.${said}`
      : `One of its subscriptions matches nothing that is published.${said}`,
    since: (change ?? changes[changes.length - 1])?.at ?? endpoint.createdAt,
    changedBefore: before ?? null,
    confidence: guesses.length > 0 ? "high" : "medium",
    because: `It subscribes to ${named(endpoint.eventTypes)}. Published in the last 30 days: ${named(types)}.`,
    nextSteps: [
      seeTypes("Look at every type that was published, and how many endpoints match it."),
      fixEventTypes(
        endpoint.id,
        "All that it shall subscribe to, spelt as it is published: what is left out ends. Events published before are not sent."
      ),
      person("If the type is misspelt where events are published, correct it there instead.")
    ]
  }
}
