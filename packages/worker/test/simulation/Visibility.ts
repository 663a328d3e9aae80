/** What could be read from the database at a moment: secrets, and whether an endpoint was enabled. */
import type { Fact } from "./Facts.ts"
import type { Judged } from "./Judged.ts"

type Published = Extract<Fact, { readonly kind: "published" }>

interface Index {
  readonly length: number
  readonly ofEndpoint: ReadonlyMap<string, ReadonlyArray<Fact>>
  readonly publishedAs: ReadonlyMap<string, Published>
}

/** Indexed, so that judging thousands of posts does not read the whole history for each. */
const indexes = new WeakMap<ReadonlyArray<Fact>, Index>()

const endpointIn = (fact: Fact): string | null =>
  fact.kind === "recorded" ? fact.observed.endpointId : "endpointId" in fact ? fact.endpointId : null

const indexOf = ({ model: { facts } }: Judged): Index => {
  const known = indexes.get(facts)
  if (known?.length === facts.length) return known
  const ofEndpoint = new Map<string, Array<Fact>>()
  const publishedAs = new Map<string, Published>()
  for (const fact of facts) {
    if (fact.kind === "published") publishedAs.set(fact.deliveryId, fact)
    const endpointId = endpointIn(fact)
    if (endpointId === null) continue
    const those = ofEndpoint.get(endpointId)
    if (those === undefined) ofEndpoint.set(endpointId, [fact])
    else those.push(fact)
  }
  const index = { length: facts.length, ofEndpoint, publishedAs }
  indexes.set(facts, index)
  return index
}

export const endpointOf = (world: Judged, deliveryId: string): Published =>
  indexOf(world).publishedAs.get(deliveryId)!

const factsOf = (world: Judged, endpointId: string): ReadonlyArray<Fact> =>
  indexOf(world).ofEndpoint.get(endpointId) ?? []

/** The secrets that were active at a moment, the current one first. */
export const keysAt = (world: Judged, endpointId: string, at: number): ReadonlyArray<Buffer> => {
  const keys = world.secrets.filter((secret) => secret.endpointId === endpointId)
  const rotations = factsOf(world, endpointId).filter((fact) => fact.kind === "rotated" && fact.at <= at)
  const current = rotations.length
  const last = rotations.at(-1)
  const previous = last !== undefined && at < last.at + world.graceMs ? [keys[current - 1]!.key] : []
  return [keys[current]!.key, ...previous]
}

/** A post uses what was read from the database shortly before. */
const shortlyBefore = (at: number, reach: number) => [0, 0.25, 0.5, 0.75, 1].map((part) => at - part * reach)

/** Every moment in that interval at which the answer could have differed. */
export const changesAround = (world: Judged, at: number, endpointId: string): ReadonlyArray<number> => {
  const reach = world.reachMs(at)
  const changes = factsOf(world, endpointId).filter(
    (fact) => (fact.kind !== "recorded" || fact.disables) && fact.at <= at && fact.at >= at - reach
  )
  return [...shortlyBefore(at, reach), ...changes.flatMap((fact) => [fact.at - 0.001, fact.at])]
}

export const enabledAt = (world: Judged, endpointId: string, at: number): boolean => {
  let enabled = true
  for (const fact of factsOf(world, endpointId)) {
    if (fact.at > at) continue
    if (fact.kind === "disabled" || fact.kind === "deleted") enabled = false
    else if (fact.kind === "recorded" && fact.disables) enabled = false
    else if (fact.kind === "enabled") enabled = true
  }
  return enabled
}
