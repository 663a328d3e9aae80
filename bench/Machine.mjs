/** Clock, processes, and their CPU and memory as Linux counts them (/proc). */
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:net"

/** Of `getconf CLK_TCK`: 100 on every Linux. */
const TICKS = 100

/** CPU seconds of a process and of its children that have ended; null when the process is gone. */
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

/**
 * CPU seconds of a server and its children, including those that have ended: PostgreSQL starts a process for each session.
 */
export const cpuOfTree = (pid) => {
  const top = stat(pid)
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(stat)
    .filter((child) => child?.parent === pid)
    .reduce((sum, child) => sum + child.own + child.reaped, top.own + top.reaped)
}

export const parentOf = (pid) => stat(pid).parent

/** Resident memory in MB. */
export const memoryOf = (pid) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))[1]) / 1024

/** Milliseconds of the clock that all processes of the machine share. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export const until = async (question, what, { every = 20, within = 120_000 } = {}) => {
  for (const deadline = now() + within; now() < deadline; await sleep(every)) {
    const answer = await question()
    if (answer) return answer
  }
  throw new Error(`${what}: not within ${within / 1000} s`)
}

export const quantile = (values, q) => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
}

export const median = (values) => {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

const running = new Set()
process.once("exit", () => {
  for (const child of running) child.kill("SIGTERM")
})

/** A Node program; `stop()` ends it, and kills it after 10 s. What it prints to stderr is shown. */
export const start = (args, env, options = {}) => {
  const stdio = ["ignore", "ignore", "inherit"]
  const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...env }, stdio, ...options })
  running.add(child)
  const ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)))
  ended.then(() => running.delete(child))
  const stop = async (signal = "SIGTERM") => {
    child.kill(signal)
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000)
    await ended
    clearTimeout(timer)
  }
  return { child, pid: child.pid, ended, stop }
}
