/** Laws of a whole installation besides those of the engine: between publishers, REST and the database. */
import type { Judged } from "../simulation/Judged.ts"
import type { Logged } from "./ChangeHistory.ts"
import { type Judgement, judgeEach } from "./Judgement.ts"
import type { Acknowledged } from "./Publishers.ts"

export interface Installed {
  readonly log: ReadonlyArray<Logged>
  readonly acknowledged: ReadonlyArray<Acknowledged>
  readonly undone: ReadonlyArray<string>
  /** Faults that a query of the database finds (processes/Wrong.ts). */
  readonly wrong: ReadonlyArray<string>
  /** Attempts that are stored at the end, as JSON by id. */
  readonly attempts: ReadonlyMap<string, string>
}

/** Publishers put their key into the payload as well. */
const eventsByKey = (log: ReadonlyArray<Logged>) => {
  const events = new Map<string, Array<string>>()
  for (const { kind, new: event } of log) {
    if (kind !== "event") continue
    const { key } = JSON.parse(event!.payload as string) as { readonly key?: string }
    if (key !== undefined) events.set(key, [...(events.get(key) ?? []), event!.id as string])
  }
  return events
}

const idsOf = (log: ReadonlyArray<Logged>, wanted: Logged["kind"]) =>
  new Set(log.flatMap(({ kind, new: row }) => (kind === wanted ? [row!.id as string] : [])))

/** Answered means durable. */
const answeredIsStored = ({ acknowledged, log }: Installed): Judgement => {
  const stored = new Set([...idsOf(log, "event"), ...idsOf(log, "published")])
  const answered = acknowledged.flatMap(({ deliveryIds, eventId }) => [eventId, ...deliveryIds])
  const { violations } = judgeEach(
    "",
    answered,
    (id) => !stored.has(id) && `${id} was answered and is not stored`
  )
  return { cases: acknowledged.length, violations }
}

/** One key, one event, however often it was sent. */
const onceForEachKey = ({ acknowledged, log }: Installed): Judgement => {
  const { violations } = judgeEach(
    "",
    [...eventsByKey(log)],
    ([key, ids]) => ids.length !== 1 && `key ${key} made the events ${ids.join(", ")}`
  )
  return { cases: new Set(acknowledged.map(({ key }) => key)).size, violations }
}

/** Rolled back means never delivered. */
const undoneIsNever = ({ log, undone }: Installed): Judgement => {
  const events = eventsByKey(log)
  return judgeEach("", undone, (key) => events.has(key) && `key ${key} was rolled back and is stored`)
}

/** Evidence is never changed, and is removed with its delivery only. */
const evidenceStays = ({ attempts, log }: Installed, { model }: Judged): Judgement => {
  const logged = log.flatMap(({ kind, new: row }) => (kind === "attempt" ? [row!] : []))
  const kept = logged.filter((row) => model.deliveries.has(row.delivery_id as string))
  return judgeEach(
    "",
    kept,
    (row) =>
      attempts.get(row.id as string) !== JSON.stringify(row) &&
      `${row.delivery_id} attempt ${row.ordinal} is not what was recorded`
  )
}

/** Nothing is sent that was not committed. */
const sentIsCommitted = ({ log }: Installed, { posts }: Judged): Judgement => {
  const commits = new Map<string, number>()
  for (const { commit, kind, new: row } of log)
    if (kind === "published") commits.set(row!.id as string, commit)
  return judgeEach("", posts, ({ at, deliveryId }) => {
    // The receiver's clock is in whole milliseconds.
    const isCommitted = at >= Math.floor(commits.get(deliveryId) ?? Number.POSITIVE_INFINITY)
    return !isCommitted && `${deliveryId} was sent before it was committed`
  })
}

export const installationLaws = (
  installed: Installed,
  judged: Judged
): Readonly<Record<string, Judgement>> => ({
  "I1 answered means stored": answeredIsStored(installed),
  "I2 one event for each key": onceForEachKey(installed),
  "I3 rolled back means never": undoneIsNever(installed),
  "I4 nothing sent that was not committed": sentIsCommitted(installed, judged),
  "I5 evidence stays": evidenceStays(installed, judged),
  "I6 the database agrees with itself": { cases: judged.model.deliveries.size, violations: installed.wrong }
})
