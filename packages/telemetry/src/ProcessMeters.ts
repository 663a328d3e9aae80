/** CPU, memory and event loop of this process, under the names that every Prometheus client uses for them. */
import { performance } from "node:perf_hooks"
import { Effect } from "effect"
import { collecting } from "./Collectors.ts"
import { counter, gauge } from "./Meters.ts"

const cpu = counter("process_cpu_seconds_total", "CPU time that this process has used, in seconds.")
const memory = gauge("process_resident_memory_bytes", "Memory that this process holds, in bytes.")
const startedAt = gauge("process_start_time_seconds", "When this process started, in seconds since 1970.")
const busy = counter(
  "nodejs_eventloop_active_seconds_total",
  "Time in which the event loop was not idle, in seconds: its rate is the share of one core that JavaScript uses."
)
const build = gauge(
  "posthorn_build_info",
  "1, with the version and the role of this process.",
  "version",
  "role"
)

/** `role` is the command: dev, serve or work. */
export const processMeters = (version: string, role: string) =>
  Effect.suspend(() => {
    let [cpuBefore, busyBefore] = [0, 0]
    startedAt.set(performance.timeOrigin / 1000)
    build.set(1, version, role)
    return collecting(
      Effect.sync(() => {
        const { system, user } = process.cpuUsage()
        const cpuNow = (user + system) / 1e6
        const busyNow = performance.eventLoopUtilization().active / 1000
        cpu.add(cpuNow - cpuBefore)
        busy.add(busyNow - busyBefore)
        ;[cpuBefore, busyBefore] = [cpuNow, busyNow]
        memory.set(process.memoryUsage.rss())
      })
    )
  })
