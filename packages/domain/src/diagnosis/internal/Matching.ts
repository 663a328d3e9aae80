/** Findings about subscriptions that no published event matches, and a filter that lets nothing through. */

import { isReserved, patternsOf, TEST_EVENT } from "../../EventType.ts"
import { edits } from "../../Spelling.ts"
import type { Evidence } from "../DiagnosisEvidence.ts"
import type { Finding } from "../Finding.ts"
import { fixEventTypes, fixFilter, person, seeFiltered, seeTypes } from "./Steps.ts"

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

const FEWEST_EXCLUDED = 50
const LONGEST_CONDITION = 100

export const excluded = ({ changes, endpoint, filtered }: Evidence): Finding | undefined => {
  if (!endpoint.enabled || filtered === null || filtered.mostOften === null) return undefined
  if (filtered.examined < FEWEST_EXCLUDED || filtered.matching > 0) return undefined
  const { condition, path } = filtered.mostOften
  const shown = condition.length > LONGEST_CONDITION ? `${condition.slice(0, LONGEST_CONDITION)}…` : condition
  return {
    ...MATCH,
    code: "filter_excludes_everything",
    summary: `Its filter lets nothing through: none of the newest ${filtered.examined} events of the last 24 hours that its subscriptions match.`,
    since: changes.find(({ fields }) => fields.includes("filter"))?.at ?? endpoint.createdAt,
    changedBefore:
      changes.find(
        ({ action, fields }) => action === "webhook.endpoint_updated" && fields.includes("filter")
      ) ?? null,
    confidence: "high",
    because: `Each was judged by the filter as it is now. Most often ${shown} does not hold at ${path === "" ? "the payload itself" : path}.`,
    nextSteps: [
      seeFiltered(filtered.filter, endpoint.eventTypes),
      fixFilter(
        endpoint.id,
        "A filter that lets through what it shall get, or null for all. It holds for what is published from then on."
      )
    ]
  }
}
