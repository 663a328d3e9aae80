/** All event types that the workspace sees, by group: the described ones, then those that only occurred. */
import { useEffect } from "react"
import type { ItemOf } from "../../api/contract.ts"
import { useList } from "../../api/queries.ts"

export type EventType = ItemOf<"listEventTypes">

export interface Group {
  /** Null for those without a group. */
  readonly name: string | null
  readonly types: ReadonlyArray<EventType>
}

export const useEventTypes = ({ enabled = true }: { enabled?: boolean } = {}) => {
  const query = useList("listEventTypes", { query: { limit: 200 } }, { enabled, everyMs: 30_000 })
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [fetchNextPage, hasNextPage, isFetchingNextPage])
  return query
}

/** Groups by name, and at the end types without one. */
export const groupsOf = (types: ReadonlyArray<EventType>): ReadonlyArray<Group> => {
  const names = [...new Set(types.map(({ group }) => group))].sort((one, two) =>
    one === null ? 1 : two === null ? -1 : one.localeCompare(two)
  )
  return names.map((name) => ({ name, types: types.filter(({ group }) => group === name) }))
}

/** Those with every word somewhere in name, description or group. */
export const matching = (types: ReadonlyArray<EventType>, words: string): ReadonlyArray<EventType> => {
  const wanted = words.toLowerCase().split(/\s+/)
  return types.filter(({ description, eventType, group }) => {
    const text = `${eventType} ${description ?? ""} ${group ?? ""}`.toLowerCase()
    return wanted.every((word) => text.includes(word))
  })
}

/** Whether one of an endpoint's patterns takes the type. */
export const wants = (patterns: ReadonlyArray<string>, eventType: string): boolean =>
  patterns.some(
    (pattern) =>
      pattern === "*" ||
      pattern === eventType ||
      (pattern.endsWith(".*") && eventType.startsWith(pattern.slice(0, -1)))
  )
