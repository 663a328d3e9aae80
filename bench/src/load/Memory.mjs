/**
 * The memory of a run's processes, in MB. A Node process by what is resident. PostgreSQL by what its processes have for
 * themselves (RssAnon): its shared buffers are one fixed block, counted by each process that has touched it.
 */
import { readdirSync, readFileSync } from "node:fs"
import { memoryOf, parentOf } from "../Machine.mjs"

const privateOf = (pid) => {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "latin1")
    return Number(/RssAnon:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

const treeOf = (top) => [
  top,
  ...readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === top)
]

/** `pids` by name; `postmaster` is null when PostgreSQL is somebody else's. */
export const memoryBy = (pids, postmaster) => ({
  ...Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, memoryOf(pid).now])),
  ...(postmaster === null
    ? {}
    : { postgres: treeOf(postmaster).reduce((sum, pid) => sum + privateOf(pid), 0) })
})
