/** The goals, each with what was measured and whether it was met. Ratios come from one run on the same work. */
import { known, row, two } from "./GoalRow.mjs"
import { backlog, history, load } from "./load/Goals.mjs"
import { publish } from "./publishing/Goals.mjs"

const find = (result, name) => result?.contestants?.find((one) => one.name === name)

const compared = (us, other, against, faster, cheaper) => {
  if (us === undefined || other === undefined) return []
  const rate = us.warm.rate / other.warm.rate
  const cpu = us.warm.cpu / other.warm.cpu
  const goal = [`>= ${faster}x deliveries/s`, ...(cheaper ? [`<= ${cheaper}x CPU`] : [])].join(", ")
  const met = known(rate, cpu) ? rate >= faster && (cheaper === null || cpu <= cheaper) : null
  return [row(against, goal, `${two(rate)}x, ${two(cpu)}x CPU`, met)]
}

const throughput = (result) => {
  const us = find(result, "posthorn")
  if (us === undefined) return []
  const wal = us.warm.walWithEnqueue
  return [
    ...compared(us, find(result, "graphile"), "graphile-worker, tuned, our HTTP client", 1.5, 0.8),
    ...compared(us, find(result, "graphile-usual"), "graphile-worker, as usually written", 8, 0.15),
    ...compared(us, find(result, "bullmq"), "BullMQ + Redis, our HTTP client", 2, 0.65),
    ...compared(us, find(result, "pg-boss"), "pg-boss, our HTTP client", 3, null),
    ...compared(us, find(result, "loop"), "minimal loop, our HTTP client", 0.75, 1.35),
    row("memory", "RSS <= 180 MB", `${us.rss.toFixed(0)} MB`, us.rss <= 180),
    row(
      "CPU of Node and PostgreSQL",
      "<= 0.14 s per 1,000",
      `${us.warm.cpu.toFixed(3)} s`,
      known(us.warm.cpu) ? us.warm.cpu <= 0.14 : null
    ),
    row("WAL per delivery, publishing included", "<= 3.3 KB", `${(wal / 1000).toFixed(1)} KB`, wal <= 3300),
    row(
      "calm run",
      "0 lost, 0 sent twice, 0 bad signatures",
      `${us.lost}, ${us.duplicated}, ${us.badSignatures}`,
      us.lost + us.duplicated + us.badSignatures === 0
    )
  ]
}

const pickup = (result) => {
  const us = find(result, "posthorn")
  if (us === undefined) return []
  return [
    row(
      `pickup at ${result.options.rate}/s, from the commit`,
      "p50 <= 2.5 ms, p99 <= 15 ms",
      `${us.p50FromCommit.toFixed(1)} ms, ${us.p99FromCommit.toFixed(1)} ms (with the producer's commit ${us.p50.toFixed(1)}, ${us.p99.toFixed(1)})`,
      us.p50FromCommit <= 2.5 && us.p99FromCommit <= 15
    ),
    row(
      "idle",
      "CPU < 1 %, PostgreSQL included",
      `worker ${two(us.idleNodePercent)} %, with its own sessions ${two(us.idleOwnPercent)} %, with all of PostgreSQL ${two(us.idlePercent)} %; the server alone ${two(us.serverAlonePercent)} %`,
      us.idlePercent < 1
    )
  ]
}

const fairness = (result) => {
  const us = find(result, "posthorn")
  if (us === undefined) return []
  const rows = [
    row(
      "healthy endpoints beside a dead one",
      "p99 <= 1.3x of without",
      `${two(us.ratio)}x (${(us.with.p99 / 1000).toFixed(2)} s)`,
      us.ratio <= 1.3
    )
  ]
  for (const name of ["graphile", "bullmq"]) {
    const other = find(result, name)
    if (other) {
      const times = other.with.p50 / us.with.p50
      rows.push(
        row(
          `${other.label} beside a dead one`,
          "healthy p50 far behind ours",
          `${times.toFixed(0)}x ours`,
          times > 1
        )
      )
    }
  }
  return rows
}

/** Longer than that waits who waits for somebody else's requests to end. */
const PROMPT_MS = 1000

const workspaces = (result) =>
  (result?.cases ?? [])
    .filter(({ endpoints }) => endpoints > 0)
    .map(({ arrived, each, endpoints, p50, p99 }) =>
      row(
        `a workspace beside ${endpoints} hanging endpoints of another, ${each} waiting each`,
        "all arrive, p99 <= 1 s",
        `${(arrived * 100).toFixed(0)} %, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
        arrived === 1 && p99 <= PROMPT_MS
      )
    )

const limits = { backlog: 1.25, blocked: 1.2, snapshot: 1.3 }

const growth = (result) =>
  (result?.cases ?? [])
    .filter(({ name }) => Object.hasOwn(limits, name))
    .map(({ name, postgresRatio, rateRatio }) => {
      const { backlog, history } = result.options
      const millions = (n) => `${n / 1e6}M`
      const what = {
        backlog: `${millions(backlog)} waiting + ${millions(history)} history`,
        blocked: `${millions(backlog)} rows of one blocked endpoint`,
        snapshot: "held snapshot, after 60,000 deliveries"
      }[name]
      return row(
        what,
        `PostgreSQL CPU <= ${limits[name]}x of empty`,
        `${two(postgresRatio)}x (deliveries/s ${two(rateRatio)}x)`,
        known(postgresRatio) ? postgresRatio <= limits[name] : null
      )
    })

const workers = (result) => {
  if (result === undefined) return []
  const [one, ...more] = result.counts
  const ratios = more.map(({ rate }) => rate / one.rate)
  const twice = result.counts
    .flatMap(({ runs }) => runs)
    .reduce((sum, run) => sum + run.duplicated + run.lost, 0)
  return [
    row(
      "2, then 4 workers, against 1",
      "throughput does not fall (>= 0.95x)",
      ratios.map((ratio) => `${two(ratio)}x`).join(", "),
      ratios.every((ratio) => ratio >= 0.95)
    ),
    row("calm run of 1, 2, 4 workers", "nothing lost or sent twice", `${twice}`, twice === 0),
    row(
      "kill -9 of one of two",
      "taken over within 10 s, nothing lost",
      `${(result.kill.takeoverMs / 1000).toFixed(1)} s, lost ${result.kill.lost}, sent again ${result.kill.repeated}`,
      result.kill.takeoverMs <= 10_000 && result.kill.lost === 0
    ),
    row(
      "SIGTERM with 100 in flight",
      "all finish, none repeated, within 15 s",
      `${result.term.seconds.toFixed(1)} s, recorded ${result.term.recorded} of ${result.term.inFlight}, sent again ${result.term.duplicated}`,
      result.term.seconds <= 15 && result.term.duplicated === 0 && result.term.lost === 0
    )
  ]
}

const replay = ({ cancel, countMs, options, replayed, rss, twice, with: beside, without }) => {
  const ratio = beside.p99 / without.p99
  const [first] = rss.during
  const last = rss.during.at(-1)
  const what = `${options.n / 1e6}M`
  return [
    row(
      `live deliveries at ${options.rate}/s beside a job of ${what}`,
      "p99 <= 1.3x of without",
      `${two(ratio)}x (${beside.p99.toFixed(1)} ms, p50 ${beside.p50.toFixed(1)} ms; without ${without.p99.toFixed(1)}, ${without.p50.toFixed(1)})`,
      ratio <= 1.3
    ),
    row(
      "memory of its worker",
      "flat: <= 1.1x from the first window to the last",
      `RSS ${rss.before.toFixed(0)} MB before, ${rss.during.map((mb) => mb.toFixed(0)).join(", ")} MB; ${replayed} replayed`,
      last <= 1.1 * first
    ),
    row(
      "cancelling it",
      "effective within 2 s",
      `answered in ${cancel.answeredMs.toFixed(0)} ms, the last delivery made ${cancel.lastMadeMs.toFixed(0)} ms after the call`,
      cancel.lastMadeMs <= 2000
    ),
    row("a source replayed twice", "none", `${twice} of ${replayed}`, twice === 0),
    row(
      `counting ${what}`,
      "< 1 s",
      `${countMs.median.toFixed(0)} ms, the first time ${countMs.first.toFixed(0)} ms`,
      countMs.first < 1000
    )
  ]
}

const judges = {
  throughput,
  pickup,
  fairness,
  workspaces,
  growth,
  workers,
  publish,
  replay,
  load,
  backlog,
  history
}

export const goalsOf = (results) => results.flatMap((result) => judges[result.scenario](result))
