/** Loaded into a measured process: on SIGUSR2 it collects its garbage and writes down, in bytes, what is left. */
import { renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc")
const file = join(process.env.HEAP_PROBE_FOLDER, `${process.pid}`)

process.on("SIGUSR2", () => {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  writeFileSync(`${file}.new`, `${heapUsed + arrayBuffers}`)
  renameSync(`${file}.new`, file)
})
