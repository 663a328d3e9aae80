/**
 * Runs inside `serve` and `work` (`node --import`), for tests only: tells over a Unix socket how long the event loop has stood
 * still since the last question, and what the process keeps in memory after a garbage collection.
 */
import { createServer } from "node:net"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()

/** A loop that only waits for a processor stands still by no fault of ours: what it used in between is its own. */
let busyMs = 0
let lastUsage = process.cpuUsage()
setInterval(() => {
  const { system, user } = process.cpuUsage(lastUsage)
  lastUsage = process.cpuUsage()
  busyMs = Math.max(busyMs, (system + user) / 1_000)
}, 5).unref()

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc")

const answers = {
  look: () => ({ stallMs: Math.min(delay.max / 1e6, busyMs) }),
  keep: () => {
    collect()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return { keptMb: (heapUsed + arrayBuffers) / 2 ** 20 }
  }
}

createServer((socket) => {
  socket.on("error", () => undefined)
  socket.once("data", (asked) => {
    socket.end(JSON.stringify(answers[String(asked)]()))
    delay.reset()
    busyMs = 0
  })
})
  .listen(process.env.BOUNDS_PROBE)
  .unref()
