/**
 * Laws of operational events, whatever broke meanwhile: compared, transaction by transaction, with the changes that the database
 * wrote down itself. A transaction that was rolled back has neither. Source: spec §6.4.
 */
import { Array as Arrays } from "effect"
import type { Logged } from "./ChangeHistory.ts"
import { judgeEach, type NamedJudgement } from "./Judgement.ts"

type Row = NonNullable<Logged["new"]>

interface Told {
  readonly id: string
  readonly type: string
  readonly text: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** What a PATCH or a rotation changes. */
const SETTINGS = ["url", "description", "event_types", "policy", "enabled", "previous_secret_expires_at"]

const TYPES = ["endpoint.", "delivery.", "replay.", "payload."]

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

const isChanged = (old: Row, now: Row) => SETTINGS.some((name) => !isEqual(old[name], now[name]))

/** What one row tells of; the events of a streak are judged by themselves. */
const changesIn = ({ kind, new: now, old }: Logged, isRecord: boolean): ReadonlyArray<string> => {
  if (kind === "dead_lettered") return [`delivery.dead_lettered ${now!.id}`]
  if (kind === "replay")
    return old?.state === "running" && now!.state !== "running" ? [`replay.finished ${now!.id}`] : []
  if (kind !== "endpoint") return []
  if (old === null) return [`endpoint.created ${now!.id}`]
  if (now === null) return [`endpoint.deleted ${old.id}`]
  return [
    ...(!isRecord && isChanged(old, now) ? [`endpoint.updated ${now.id}`] : []),
    ...(old.enabled && !now.enabled ? [`endpoint.disabled ${now.id}`] : [])
  ]
}

const nameOf = ({ payload, type }: Told) =>
  `${type} ${type.startsWith("delivery.") ? payload.deliveryId : type.startsWith("replay.") ? payload.replayId : payload.endpointId}`

const isOfStreak = ({ type }: Told) => type === "endpoint.failing" || type === "endpoint.recovered"

const toldIn = (rows: ReadonlyArray<Logged>, system: string): ReadonlyArray<Told> =>
  rows
    .filter(({ kind, new: row }) => kind === "event" && row!.workspace_id === system)
    .map(({ new: row }) => ({
      id: row!.id as string,
      type: row!.event_type as string,
      text: row!.payload as string,
      payload: JSON.parse(row!.payload as string) as Told["payload"]
    }))
    .filter(({ type }) => TYPES.some((prefix) => type.startsWith(prefix)))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Why what is told of an endpoint's streak does not fit the endpoint's rows before and after the transaction. */
const streakFault = (rows: ReadonlyArray<Logged>, told: ReadonlyArray<Told>): string | false => {
  const [before, after] = [rows.at(0)?.old, rows.at(-1)?.new]
  let state = before?.recovers_from ?? null
  for (const { id, type } of told) {
    if (before?.enabled !== true) return `${id} is about an endpoint that nobody changed, or a disabled one`
    const isFailing = type === "endpoint.failing"
    if (isFailing ? state === "failing" : state === null) return `${id} says ${type} again`
    state = isFailing ? "failing" : null
  }
  const isLeftOn = before?.enabled === true && after?.enabled === true
  return isLeftOn && state !== (after.recovers_from ?? null) && `${after.id} changed without being told of`
}

export const operationLaws = (
  log: ReadonlyArray<Logged>,
  system: string
): Readonly<Record<string, NamedJudgement>> => {
  const transactions = Arrays.groupBy(log, ({ xid }) => xid)
  const exact: Array<string> = []
  const streaks: Array<string> = []
  let changes = 0
  let turns = 0
  const all: Array<Told> = []
  for (const [xid, rows] of Object.entries(transactions)) {
    const isRecord = rows.some(({ kind }) => kind === "record")
    const theirs = rows.filter(({ new: now, old }) => (now ?? old)!.workspace_id !== system)
    const told = toldIn(rows, system)
    all.push(...told)
    const expected = theirs.flatMap((row) => changesIn(row, isRecord)).toSorted()
    const found = told
      .filter((one) => !isOfStreak(one))
      .map(nameOf)
      .toSorted()
    changes += expected.length
    if (!isEqual(expected, found))
      exact.push(`transaction ${xid} changed ${expected.join(", ")}; told was ${found.join(", ")}`)
    const endpoints = Arrays.groupBy(
      theirs.filter(({ kind }) => kind === "endpoint"),
      ({ new: now, old }) => (now ?? old)!.id as string
    )
    const ofStreaks = told.filter(isOfStreak)
    turns += ofStreaks.length
    if (!isRecord) {
      if (ofStreaks.length > 0) streaks.push(`transaction ${xid} recorded nothing, and told of a streak`)
      continue
    }
    for (const id of new Set([
      ...Object.keys(endpoints),
      ...ofStreaks.map(({ payload }) => String(payload.endpointId))
    ])) {
      const ours = ofStreaks.filter(({ payload }) => payload.endpointId === id)
      const fault = streakFault(endpoints[id] ?? [], ours)
      if (fault !== false) streaks.push(fault)
    }
  }
  const isOfSystem = ({ payload }: Told) => (payload.workspace as { readonly id: string }).id === system
  return {
    "O1 one operational event for each change": { of: "changes", cases: changes, violations: exact },
    "O2 failing once, recovered once": {
      of: "turns",
      cases: turns,
      violations: streaks
    },
    "O3 nothing of its own, no secret": judgeEach(
      "operational events",
      all,
      (one) =>
        (isOfSystem(one) && `${one.id} is about the system workspace`) ||
        (/whsec_|https?:|"key"/.test(one.text) && `${one.id} says more than ids`)
    )
  }
}
