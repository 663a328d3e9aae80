/** What could be read from the database at a moment of a world: keys, and whether an endpoint was on. */
import type { Fact } from "./Facts.ts"
import { GRACE_MS, REACH_MS, type World } from "./World.ts"

/** Keys that were active at a moment: the current one first. */
export const keysAt = (world: World, endpointId: string, at: number): ReadonlyArray<Buffer> => {
  const keys = world.secrets.filter((secret) => secret.endpointId === endpointId)
  const rotations = world.model.facts.filter(
    (fact) => fact.kind === "rotated" && fact.endpointId === endpointId && fact.at <= at
  )
  const current = rotations.length
  const last = rotations.at(-1)
  const previous = last !== undefined && at < last.at + GRACE_MS ? [keys[current - 1]!.key] : []
  return [keys[current]!.key, ...previous]
}

/** A post uses what was read from the database at some instant shortly before. */
const shortlyBefore = (at: number) => [0, 0.25, 0.5, 0.75, 1].map((part) => at - part * REACH_MS)

export const endpointOf = (world: World, deliveryId: string) =>
  world.model.facts.find((fact) => fact.kind === "published" && fact.deliveryId === deliveryId) as Extract<
    Fact,
    { readonly kind: "published" }
  >

/** Every moment within reach at which a different answer could have been read. */
export const changesAround = (world: World, at: number, endpointId: string): ReadonlyArray<number> => [
  ...shortlyBefore(at),
  ...world.model.facts
    .filter(
      (fact) =>
        "endpointId" in fact && fact.endpointId === endpointId && fact.at <= at && fact.at >= at - REACH_MS
    )
    .flatMap((fact) => [fact.at - 0.001, fact.at])
]

export const enabledAt = (world: World, endpointId: string, at: number): boolean => {
  let enabled = true
  for (const fact of world.model.facts) {
    if (fact.at > at) break
    if (fact.kind === "recorded" && fact.disables && fact.observed.endpointId === endpointId) enabled = false
    else if ("endpointId" in fact && fact.endpointId === endpointId) {
      if (fact.kind === "disabled" || fact.kind === "deleted") enabled = false
      else if (fact.kind === "enabled") enabled = true
    }
  }
  return enabled
}
