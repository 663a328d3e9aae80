/**
 * What the meters of all processes add up to, beside what is on record.
 *
 * A process that is killed takes its counters along. They are added up as Prometheus' `increase` does: of each life of a process
 * the last scrape counts, and a new life begins at 0. So what a process counted between its last scrape and its death is
 * missing from the sum. Nothing may be counted that is not on record, whatever happens. Where processes are killed and nothing
 * else, no more may be missing than that. Where answers of the database are lost as well, nothing says how many these take along:
 * there at least half must be counted of what no death explains, which a meter that is renamed or not read does not reach.
 * (In a run of 25 s with every fault, 18 of 735 were missing at most, deaths included.)
 */
import { Effect } from "effect"
import { type Scrape, scrape } from "../processes/Meters.ts"
import type { Role } from "./Acts.ts"
import type { Logged } from "./History.ts"
import type { Judgement } from "./InstallationLaws.ts"
import type { Processes } from "./Processes.ts"
import { POISON } from "./Receivers.ts"

const SCRAPE_MS = 1_000
/** What a scrape says may have been put together so long before. */
const OLD_MS = 1_000
/** A commit is counted when its answer has come. */
const LATE_MS = 500
/** Of fewer, one lost answer may take along most. */
const MANY = 20

interface Life {
  readonly role: Role
  readonly at: number
  readonly last: Scrape
}

/** Of a killed process: from its last scrape to its death nobody knows its counters. */
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

/** Whether a sum fits what is on record; `onlyKills`: nothing was lost but what killed processes took along. */
export const lineOf = (sum: Pick<Line, "counted" | "inGaps" | "onRecord" | "onlyKills">): Line => {
  const { counted, inGaps, onRecord, onlyKills } = sum
  const known = onRecord - inGaps
  const least = onlyKills ? known : known < MANY ? 0 : Math.ceil(known / 2)
  const fits = counted <= onRecord && counted >= least
  const violations = fits ? [] : [`${counted} counted, ${onRecord} on record, at least ${least} expected`]
  return { ...sum, cases: onRecord, least, violations }
}

export class Tally {
  private readonly lives = new Map<string, Life>()
  private readonly gaps: Array<Gap> = []
  private readonly running: Processes
  private readonly began = Date.now()
  private timer: NodeJS.Timeout | null = null

  constructor(running: Processes) {
    this.running = running
  }

  watch(): void {
    this.timer = setInterval(() => void this.look(), SCRAPE_MS)
  }

  /** Once more, from whoever lives, when nothing happens any more. */
  async finish(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer)
    await new Promise((resolve) => setTimeout(resolve, OLD_MS + LATE_MS))
    await this.look()
  }

  killed(role: Role): void {
    const last = this.lives.get(this.nameOf(role))
    this.gaps.push({ role, from: (last?.at ?? this.began) - OLD_MS - LATE_MS, to: Date.now() + LATE_MS })
  }

  private nameOf(role: Role): string {
    return `${role}.${this.running.processes.get(role)!.starts}`
  }

  private async look(): Promise<void> {
    const one = async ([role, origin]: readonly [Role, string]) => {
      const name = this.nameOf(role)
      const at = Date.now()
      const last = await Effect.runPromise(scrape(origin))
      if (name === this.nameOf(role)) this.lives.set(name, { role, at, last })
    }
    await Promise.allSettled([...this.running.origins].map(one))
  }

  /** `moments`: when each of those on record was committed. */
  private line(
    onlyKills: boolean,
    of: "worker" | "server",
    name: string,
    labels: Readonly<Record<string, string>>,
    moments: ReadonlyArray<number>
  ): Line {
    const counted = [...this.lives.values()].reduce((sum, { last }) => sum + last.sum(name, labels), 0)
    const gaps = this.gaps.filter(({ role }) => role.startsWith(of))
    const inGaps = moments.filter((at) => gaps.some(({ from, to }) => at >= from && at <= to)).length
    return lineOf({ counted, inGaps, onRecord: moments.length, onlyKills })
  }

  /** `sql`: keys that were not published over REST; `onlyKills`: nothing else went wrong. */
  judge(
    log: ReadonlyArray<Logged>,
    sql: ReadonlySet<string>,
    onlyKills: boolean
  ): Readonly<Record<string, Line>> {
    const moments = (rows: ReadonlyArray<Logged>) => rows.map(({ commit }) => commit)
    const ofKind = (kind: Logged["kind"]) => log.filter((row) => row.kind === kind)
    const events = ofKind("event").filter(({ new: event }) => {
      const { key } = JSON.parse(event!.payload as string) as { readonly key?: string }
      return event!.event_type === POISON || (key !== undefined && !sql.has(key))
    })
    const ids = new Set(events.map(({ new: event }) => event!.id))
    const disabled = ofKind("endpoint").filter(
      ({ new: now, old }) => old?.enabled && now?.disabled_reason === "consecutive_failures"
    )
    const attempts = (status: string) =>
      this.line(
        onlyKills,
        "worker",
        "posthorn_attempts_total",
        { status },
        moments(ofKind("attempt").filter(({ new: row }) => row!.status === status))
      )
    const rest = { via: "rest" }
    return {
      "M1 attempts delivered": attempts("delivered"),
      "M2 attempts failed": attempts("failed"),
      "M3 attempts failed for good": attempts("failed_permanent"),
      "M4 dead letters": this.line(
        onlyKills,
        "worker",
        "posthorn_deliveries_dead_lettered_total",
        {},
        moments(ofKind("buried"))
      ),
      "M5 endpoints disabled": this.line(
        onlyKills,
        "worker",
        "posthorn_endpoints_disabled_total",
        {},
        moments(disabled)
      ),
      "M6 events published over REST": this.line(
        onlyKills,
        "server",
        "posthorn_events_published_total",
        rest,
        moments(events)
      ),
      "M7 deliveries made over REST": this.line(
        onlyKills,
        "server",
        "posthorn_deliveries_created_total",
        rest,
        moments(
          ofKind("published").filter(({ new: row }) => ids.has(row!.event_id) && row!.replay_id === null)
        )
      )
    }
  }
}
