/** ARCHITECTURE.md's table of what passes between a worker's death and the next request has the code's bounds. */
import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { IDLE_SESSION_TIMEOUT_MS } from "@posthorn/persistence/engine/ShardLocks"
import { CLOCK_ERROR_MS } from "../../src/dispatcher/SlidingWindow.ts"
import { LEASE_TIMEOUT_MS, takeoverMs } from "../../src/ownership/Shards.ts"
import { HEARTBEAT_MS } from "../../src/Schedules.ts"
import { tuned } from "../../src/Tuning.ts"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

it("§3.4 the architecture's table of a takeover states the bounds of the code", () => {
  const table = read("../../../../ARCHITECTURE.md")
  const stands = (bound: string, ...where: ReadonlyArray<string>) =>
    assert.include(table, `| ${bound} | ${where.map((name) => `\`${name}\``).join(", ")}`)
  const seconds = (ms: number) => `${ms / 1_000} s`
  const [, together] = /TOGETHER = \[0, 0, (\d+, \d+)\]/.exec(read("../../src/dispatcher/Quarantine.ts"))!
  const loader = read("../../src/loops/Loader.ts")
  const [, trips] = /ROUND_TRIPS = ([\d.]+)/.exec(loader)!
  const [, latest] = /LATEST_MS = (\d+)_000/.exec(loader)!

  stands(seconds(IDLE_SESSION_TIMEOUT_MS), "IDLE_SESSION_TIMEOUT_MS")
  stands(seconds(HEARTBEAT_MS), "HEARTBEAT_MS")
  stands(seconds(LEASE_TIMEOUT_MS), "LEASE_TIMEOUT_MS")
  stands(`1 step for ${tuned.sweepStep} endpoints`, "sweepStep")
  stands(
    `${seconds(tuned.openPollMs)}, ${seconds(tuned.notListeningPollMs)} while nothing listens`,
    "openPollMs",
    "notListeningPollMs"
  )
  stands(`${tuned.refillMost} endpoints a round`, "refillMost")
  stands(`${seconds(tuned.lateMs)}, or ${trips} round trips: ${latest} s at most`, "lateMs")
  stands(seconds(tuned.freshMs), "freshMs")
  stands(`${together}, then 1 at a time`, "TOGETHER")
  stands(`${seconds(LEASE_TIMEOUT_MS + CLOCK_ERROR_MS)} later`, "outlives_its_lease")
  for (const page of ["ARCHITECTURE.md", "docs/spec.md", "docs/adr/0011-shard-ownership.md"])
    for (const answerMs of [1_000, LEASE_TIMEOUT_MS])
      assert.match(read(`../../../../${page}`), new RegExp(`within ${takeoverMs(answerMs) / 1_000} s`, "i"))
})
