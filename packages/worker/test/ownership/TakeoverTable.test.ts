/** ARCHITECTURE.md's table of what passes between a worker's death and the next request has the code's bounds. */
import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { IDLE_SESSION_TIMEOUT_MS } from "@posthorn/persistence/engine/ShardLocks"
import { CLOCK_ERROR_MS } from "../../src/dispatcher/SlidingWindow.ts"
import { LEASE_TIMEOUT_MS, TAKEOVER_MS } from "../../src/ownership/Shards.ts"
import { HEARTBEAT_MS } from "../../src/Schedules.ts"
import { tuned } from "../../src/Tuning.ts"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

it("§3.4 the architecture's table of a takeover states the bounds of the code", () => {
  const table = read("../../../../ARCHITECTURE.md")
  const stands = (bound: string, where: string) => assert.include(table, `| ${bound} | \`${where}\``)
  const seconds = (ms: number) => `${ms / 1_000} s`
  const [, together] = /TOGETHER = \[0, 0, (\d+, \d+)\]/.exec(read("../../src/dispatcher/Quarantine.ts"))!

  stands(seconds(IDLE_SESSION_TIMEOUT_MS), "IDLE_SESSION_TIMEOUT_MS")
  stands(seconds(HEARTBEAT_MS), "HEARTBEAT_MS")
  stands(seconds(LEASE_TIMEOUT_MS), "LEASE_TIMEOUT_MS")
  stands(`1 step for ${tuned.sweepStep} endpoints`, "sweepStep")
  stands(seconds(tuned.lateMs), "lateMs")
  stands(`${together}, then 1 at a time`, "TOGETHER")
  stands(seconds(LEASE_TIMEOUT_MS + CLOCK_ERROR_MS), "outlives_its_lease")
  assert.strictEqual(TAKEOVER_MS, IDLE_SESSION_TIMEOUT_MS + HEARTBEAT_MS + LEASE_TIMEOUT_MS)
})
