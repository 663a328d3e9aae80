/** The goals of publishing. Modes: nobody delivers, a worker idles, a worker delivers, commits take 10 ms. */
import { known, row, two } from "../GoalRow.mjs"

const LONE_MS = 0.35

const ratio = (value, goal, what, against) =>
  row(against, `>= ${goal}x ${what}`, `${two(value)}x`, known(value) ? value >= goal : null)

const lone = (cell) =>
  ["alone", "idle", "delivering"].flatMap((mode) => {
    const found = cell("alone", 4, mode)
    if (found === undefined) return []
    // With a worker beside it, what the worker's own statements cost is not the publisher's.
    const cost = mode === "alone" ? found.postgres : found.backends
    return [
      row(
        `one posthorn.publish, ${{ alone: "no worker", idle: "a worker idling", delivering: "a worker delivering" }[mode]}`,
        `<= ${LONE_MS} ms of PostgreSQL's CPU`,
        `${two(cost)} ms${mode === "alone" ? "" : ` in the publishers, ${two(found.postgres)} with the worker's statements`}`,
        cost <= LONE_MS
      )
    ]
  })

const sql = (cell) => {
  const rate = (name, connections, mode = "alone") => cell(name, connections, mode)?.rate
  const grows = (name) => rate(name, 32) / rate(name, 1)
  return [
    ...lone(cell),
    ratio(
      rate("posthorn", 32) / rate("outbox", 32),
      0.5,
      "transactions/s",
      "plain outbox insert, 32 connections"
    ),
    ratio(
      rate("posthorn", 32) / rate("graphile", 32),
      1.5,
      "transactions/s",
      "graphile's add_job, 32 connections"
    ),
    ratio(
      grows("posthorn") / grows("outbox"),
      0.8,
      "of its growth",
      "plain outbox insert, from 1 to 32 connections"
    ),
    ratio(
      rate("posthorn", 16, "slow commits") / rate("outbox", 16, "slow commits"),
      0.8,
      "transactions/s",
      "plain outbox insert, commits of 10 ms, 16 connections"
    )
  ]
}

const wal = (cell, large) => {
  const single = cell("posthorn", 8, "delivering")
  return [
    ...(single
      ? [
          row(
            "WAL of a single publish of 500 bytes, delivery included",
            "<= 3.8 KB",
            `${(single.wal / 1000).toFixed(1)} KB`,
            single.wal <= 3800
          )
        ]
      : []),
    ...(large
      ? [
          row(
            "20 KB to 10 endpoints",
            "WAL <= 55 KB, disk <= 3x",
            `${(large.wal / 1000).toFixed(0)} KB, ${large.disk.toFixed(1)}x`,
            large.wal <= 55_000 && large.disk <= 3
          )
        ]
      : [])
  ]
}

const rest = (cell) => {
  const [ours, theirs] = [cell("rest", 64, "alone"), cell("fastify", 64, "alone")]
  if (ours === undefined || theirs === undefined) return []
  return [
    ratio(ours.rate / theirs.rate, 1, "requests/s", "Fastify with one insert each, 64 connections"),
    row(
      "Fastify with one insert each, 64 connections",
      "p99 <= 2x",
      `${two(ours.p99 / theirs.p99)}x (${ours.p99.toFixed(0)} ms)`,
      ours.p99 <= 2 * theirs.p99
    )
  ]
}

export const publish = ({ cells, large }) => {
  const cell = (name, connections, mode) =>
    cells.find((one) => one.name === name && one.connections === connections && one.mode === mode)
  return [...sql(cell), ...wal(cell, large), ...rest(cell)].filter(({ met }) => met !== null)
}
