/**
 * What a Node process still holds after a garbage collection, in MB. Resident memory says less: it climbs for minutes until
 * the collector has a reason to tidy up, and looks like a leak meanwhile.
 */
import { mkdtempSync, readFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { until } from "../Machine.mjs"

const PROBE = new URL("./HeapProbe.mjs", import.meta.url).href

/** Processes that `start` begins can be asked for their heap. */
export const probed = async (start) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-heap-"))
  const { NODE_OPTIONS } = process.env
  Object.assign(process.env, {
    NODE_OPTIONS: `${NODE_OPTIONS ?? ""} --import ${PROBE}`,
    HEAP_PROBE_FOLDER: folder
  })
  try {
    return { folder, started: await start() }
  } finally {
    delete process.env.HEAP_PROBE_FOLDER
    if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS
    else process.env.NODE_OPTIONS = NODE_OPTIONS
  }
}

const answerIn = (file) => {
  try {
    return Number(readFileSync(file, "utf8")) || null
  } catch {
    return null
  }
}

const heapOf = async (folder, pid) => {
  const file = join(folder, `${pid}`)
  await rm(file, { force: true })
  process.kill(pid, "SIGUSR2")
  await until(() => answerIn(file) !== null, `process ${pid} tells its heap`, { every: 20, within: 30_000 })
  return answerIn(file) / 1_048_576
}

/** By name, one after another: each stands still for some 50 ms. */
export const heapsBy = async (folder, pids) => {
  const heaps = {}
  for (const [name, pid] of Object.entries(pids)) heaps[name] = await heapOf(folder, pid)
  return heaps
}
