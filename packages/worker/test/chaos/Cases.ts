/**
 * The number of cases that each law judged in a run, and the minimum without which a law that finds nothing proves nothing.
 */
import { MAX_CLAIMS } from "@posthorn/domain/Verdict"
import { slowPosts } from "../simulation/FairLaws.ts"
import type { Judged } from "../simulation/Judged.ts"

type Count = (judged: Judged) => number

const facts = (judged: Judged, kind: string) => judged.model.facts.filter((fact) => fact.kind === kind)

const recorded: Count = (judged) => facts(judged, "recorded").length

const retries: Count = (judged) =>
  judged.model.facts.filter((fact) => fact.kind === "recorded" && fact.observed.ordinal > 1).length

const deadLetters: Count = ({ model }) =>
  [...model.deliveries.values()].filter(({ status }) => status === "dead_lettered").length

const stopped: Count = (judged) =>
  judged.model.facts.filter((fact) => fact.kind === "disabled" || (fact.kind === "recorded" && fact.disables))
    .length

const streaks: Count = (judged) =>
  judged.model.facts.filter((fact) => fact.kind === "recorded" && fact.streak !== null && fact.streak > 0)
    .length

const twoSignatures: Count = ({ posts }) =>
  posts.filter(({ request }) => request.headers["webhook-signature"]!.includes(" ")).length

/** Posts without a recorded attempt: they were in flight when something broke. */
const repeated: Count = (judged) => judged.posts.length - recorded(judged)

const rateLimited: Count = (judged) =>
  judged.model.facts.filter((fact) => fact.kind === "recorded" && fact.policy?.rateLimit != null).length

/**
 * Laws about facts that only a simulated world knows: whether a worker was sure of its shards at the moment of a post, and
 * whether nothing was wrong except that notifications were not heard, or that another workspace's receivers hung. Real
 * processes do not report these, so these laws are judged in simulations only.
 */
export const INSIDE: ReadonlySet<string> = new Set(["L18 fair", "L19 prompt", "L20 fence"])

/** The minimum, by the name of the law. */
export const CASES: Readonly<
  Record<string, { readonly of: string; readonly count: Count; readonly least: number }>
> = {
  "L1 nothing is lost": { of: "deliveries", count: ({ model }) => model.deliveries.size, least: 100 },
  "L2 drained means terminal": { of: "deliveries", count: ({ model }) => model.deliveries.size, least: 100 },
  "L3 ordinals": { of: "attempts", count: recorded, least: 100 },
  "L4 terminal is final": { of: "attempts", count: recorded, least: 100 },
  "L5 schedule": { of: "retries", count: retries, least: 30 },
  "L6 evidence": { of: "attempts", count: recorded, least: 100 },
  "L7 repeats": { of: "posts without a record", count: repeated, least: 1 },
  "L8 streaks": { of: "failures counted", count: streaks, least: 30 },
  "L10 notices": { of: "dead letters", count: deadLetters, least: 1 },
  "L11 signatures": { of: "posts signed twice over", count: twoSignatures, least: 5 },
  "L12 nothing while off": { of: "times an endpoint stopped", count: stopped, least: 2 },
  "L15 nothing of the deleted": {
    of: "endpoints deleted",
    count: (judged) => facts(judged, "deleted").length,
    least: 1
  },
  "L16 poison": { of: "posts without a record", count: repeated, least: 1 },
  "L21 rates": { of: "attempts under a rate", count: rateLimited, least: 1 },
  "L17 pauses": { of: "posts to receivers that fail", count: slowPosts, least: 10 }
}

const poisonPosts: Count = ({ poison, posts }) =>
  posts.filter(({ deliveryId }) => deliveryId === poison).length

/**
 * A poison delivery must have had the time to be given up. One of the seven claims may be of a worker that died of something
 * else while the delivery only waited there (docs/adr/0012-poison.md), so six posts are enough.
 */
export const POISONED: typeof CASES = {
  "L16 poison": { of: "posts of the poison", count: poisonPosts, least: MAX_CLAIMS - 1 }
}
