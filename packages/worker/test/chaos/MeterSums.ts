/**
 * Compares the sums of all processes' meters with what is on record.
 *
 * A killed process loses its counters. They are added up like Prometheus' `increase`: for each life of a process the last
 * scrape counts, and a new life begins at 0. So what a process counted between its last scrape and its death is missing from
 * the sum. No sum may exceed what is on record, whatever happens. Where processes are killed and nothing else goes wrong,
 * exactly that much may be missing. Where answers of the database are lost as well, their number is unknown: then at least
 * half of what no death explains must be counted, which a renamed or unread meter would not reach. (In a run of 25 s with
 * every fault, at most 18 of 735 were missing, deaths included.)
 */
import { Effect } from "effect"
import { type Scrape, scrape } from "../processes/Scrapes.ts"
import type { Role } from "./Actions.ts"
import type { Logged } from "./ChangeHistory.ts"
import { pause } from "./Disturbances.ts"
import type { Judgement } from "./Judgement.ts"
import type { Processes } from "./Processes.ts"
import { POISON } from "./Receivers.ts"

const SCRAPE_MS = 1_000
/** A scrape may have been generated this long before it arrived. */
const OLD_MS = 1_000
/** A commit is counted when its answer arrives. */
const LATE_MS = 500
/** Below this number, one lost answer may remove most of it. */
const MANY = 20

interface Life {
  readonly role: Role
  readonly at: number
  readonly last: Scrape
}

/** Of a killed process: between its last scrape and its death its counters are unknown. */
interface Gap {
  readonly role: Role
  readonly from: number
  readonly to: number
}

export interface Line extends Judgement {
  readonly counted: number
  readonly onRecord: number
  /** Committed between the last scrape of a process and its death. */
  readonly inGaps: number
  readonly least: number
  readonly onlyKills: boolean
}

/** Whether a sum fits what is on record. `onlyKills`: nothing was lost except with killed processes. */
export const lineOf = (sum: Pick<Line, "counted" | "inGaps" | "onRecord" | "onlyKills">): Line => {
  const { counted, inGaps, onRecord, onlyKills } = sum
  const known = onRecord - inGaps
  const least = onlyKills ? known : known < MANY ? 0 : Math.ceil(known / 2)
  const fits = counted <= onRecord && counted >= least
  const violations = fits ? [] : [`${counted} counted, ${onRecord} on record, at least ${least} expected`]
  return { ...sum, cases: onRecord, least, violations }
}

export type MeterSums = ReturnType<typeof makeMeterSums>

export const makeMeterSums = ({ origins, processes }: Processes) => {
  const lives = new Map<string, Life>()
  const gaps: Array<Gap> = []
  const began = Date.now()
  let timer: NodeJS.Timeout | undefined
  const nameOf = (role: Role) => `${role}.${processes.get(role)!.starts}`

  const look = () =>
    Promise.allSettled(
      [...origins].map(async ([role, origin]) => {
        const name = nameOf(role)
        const at = Date.now()
        const last = await Effect.runPromise(scrape(origin))
        if (name === nameOf(role)) lives.set(name, { role, at, last })
      })
    )

  /** `sql`: keys that were not published over REST. `onlyKills`: nothing else went wrong. */
  const judge = (log: ReadonlyArray<Logged>, sql: ReadonlySet<string>, onlyKills: boolean) => {
    const ofKind = (kind: Logged["kind"]) => log.filter((row) => row.kind === kind)
    const events = ofKind("event").filter(({ new: event }) => {
      const { key } = JSON.parse(event!.payload as string) as { readonly key?: string }
      return event!.event_type === POISON || (key !== undefined && !sql.has(key))
    })
    const ids = new Set(events.map(({ new: event }) => event!.id))
    const made = ofKind("published").filter(
      ({ new: row }) => ids.has(row!.event_id) && row!.replay_id === null
    )
    const disabled = ofKind("endpoint").filter(
      ({ new: now, old }) => old?.enabled && !now?.enabled && now?.disabled_reason !== "manual"
    )
    const line = (
      of: "worker" | "server",
      name: string,
      rows: ReadonlyArray<Logged>,
      labels: Readonly<Record<string, string>> = {}
    ): Line => {
      const counted = [...lives.values()].reduce(
        (sum, { last }) => sum + last.sum(`posthorn_${name}_total`, labels),
        0
      )
      const theirs = gaps.filter(({ role }) => role.startsWith(of))
      const inGaps = rows.filter(({ commit }) =>
        theirs.some(({ from, to }) => commit >= from && commit <= to)
      )
      return lineOf({ counted, inGaps: inGaps.length, onRecord: rows.length, onlyKills })
    }
    const attempts = (status: string) => {
      const rows = ofKind("attempt").filter(({ new: row }) => row!.status === status)
      return line("worker", "attempts", rows, { status })
    }
    return {
      "M1 attempts delivered": attempts("delivered"),
      "M2 attempts failed": attempts("failed"),
      "M3 attempts failed for good": attempts("failed_permanent"),
      "M4 dead letters": line("worker", "deliveries_dead_lettered", ofKind("dead_lettered")),
      "M5 endpoints disabled": line("worker", "endpoints_disabled", disabled),
      "M6 events published over REST": line("server", "events_published", events, { via: "rest" }),
      "M7 deliveries made over REST": line("server", "deliveries_created", made, { via: "rest" })
    } satisfies Readonly<Record<string, Line>>
  }

  return {
    watch: () => {
      timer = setInterval(() => void look(), SCRAPE_MS)
    },
    /** Scrapes every living process once more, when nothing happens any more. */
    finish: async () => {
      clearInterval(timer)
      await pause(OLD_MS + LATE_MS)
      await look()
    },
    killed: (role: Role) => {
      const last = lives.get(nameOf(role))
      gaps.push({ role, from: (last?.at ?? began) - OLD_MS - LATE_MS, to: Date.now() + LATE_MS })
    },
    judge
  }
}
