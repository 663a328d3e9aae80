/**
 * What processes cost, from Linux' own books (/proc): CPU seconds of a process, or of a server with all the processes
 * it has started and already reaped; resident memory, now and at most.
 */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { cpus, loadavg } from "node:os"

const TICKS = Number(execFileSync("getconf", ["CLK_TCK"]).toString())

const stat = (pid) => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const seconds = (index) => Number(fields[index]) / TICKS
    return { parent: Number(fields[1]), own: seconds(11) + seconds(12), reaped: seconds(13) + seconds(14) }
  } catch {
    return null
  }
}

export const cpuOf = (pid) => stat(pid)?.own ?? 0

/** The same to the nanosecond, where the kernel keeps it; for processes that use little. */
export const preciseCpuOf = (pid) => {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[0]) / 1e9
  } catch {
    return cpuOf(pid)
  }
}

/** The process, its children, and the children it has outlived: right for PostgreSQL, whose backends come and go. */
export const cpuOfTree = (pid) => {
  const top = stat(pid)
  if (top === null) return Number.NaN
  let total = top.own + top.reaped
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue
    const child = stat(name)
    if (child?.parent === pid) total += child.own + child.reaped
  }
  return total
}

export const parentOf = (pid) => stat(pid)?.parent ?? null

export const commandOf = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ")
  } catch {
    return ""
  }
}

/** In MB. */
export const memoryOf = (pid) => {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "latin1")
    const field = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1] ?? 0) / 1024
    return { now: field("VmRSS"), most: field("VmHWM") }
  } catch {
    return { now: 0, most: 0 }
  }
}

export const machine = () => ({
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  node: process.version,
  load: loadavg().map((n) => Math.round(n * 100) / 100)
})

/** Milliseconds of the clock that all processes of this machine share. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export const until = async (question, what, { every = 5, within = 120_000 } = {}) => {
  const deadline = now() + within
  for (;;) {
    const answer = await question()
    if (answer) return answer
    if (now() > deadline) throw new Error(`${what}: not within ${within / 1000} s`)
    await sleep(every)
  }
}
