/**
 * `serve` and `work` as processes with the memory of the shipped manifests, and what they cost while something is tried: the
 * longest time their event loop stood still, their largest resident memory, and what they keep afterwards.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Environment, startProcess } from "@posthorn/testkit/Command"
import { Effect } from "effect"

/** The limit of `docker/kubernetes`. */
export const MOST_MB = 512

/** A container of 512 MiB gives V8 half of it; the semi-space is the image's. */
const OPTIONS = "--max-old-space-size=256 --max-semi-space-size=32"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-bounds-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const ask = <A>(path: string, what: string) =>
  new Promise<A>((resolve, reject) => {
    let text = ""
    const socket = connect(path, () => socket.write(what))
    socket.on("data", (chunk) => {
      text += chunk
    })
    socket.on("error", reject)
    socket.on("close", () =>
      text === "" ? reject(new Error("The process is gone")) : resolve(JSON.parse(text))
    )
  })

/** Linux alone tells the peak of another process, and forgets it on request. */
const peakMb = (pid: number) => {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  writeFileSync(`/proc/${pid}/clear_refs`, "5")
  return Number(kilobytes) / 1024
}

interface Cost {
  readonly stallMs: number
  readonly peakMb: number
}

export interface Probed {
  readonly running: () => boolean
  /** The worst since the last look. */
  readonly look: () => Promise<Cost>
  /** What it holds once all garbage is collected. */
  readonly keptMb: () => Promise<number>
}

export const startProbed = (command: "serve" | "work", environment: Environment) =>
  Effect.gen(function* () {
    const socket = join(yield* folder, "probe")
    const probe = fileURLToPath(new URL("Probe.mjs", import.meta.url))
    const process = yield* startProcess(command, {
      ...environment,
      BOUNDS_PROBE: socket,
      NODE_OPTIONS: `${OPTIONS} --import=${probe}`
    })
    const probed: Probed = {
      running: process.running,
      look: async () => {
        const { stallMs } = await ask<{ stallMs: number }>(socket, "look")
        return { stallMs, peakMb: peakMb(process.pid) }
      },
      keptMb: async () => {
        const { keptMb } = await ask<{ keptMb: number }>(socket, "keep")
        await ask(socket, "look")
        return keptMb
      }
    }
    return probed
  })
