/** The receiver's process, seen from the run. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

export const startSink = async () => {
  const child = fork(fileURLToPath(new URL("./Sink.mjs", import.meta.url)), { stdio: "inherit" })
  const [{ port }] = await once(child, "message")
  const waiting = []
  child.on("message", (message) => {
    const index = waiting.findIndex(({ wants }) => wants(message))
    if (index >= 0) waiting.splice(index, 1)[0].resolve(message)
  })
  const answer = (wants, message) =>
    new Promise((resolve) => {
      waiting.push({ wants, resolve })
      if (message !== undefined) child.send(message)
    })
  return {
    pid: child.pid,
    port,
    origin: `http://127.0.0.1:${port}`,
    reset: () => answer((m) => m.done === "reset", { ask: "reset" }),
    count: async () => (await answer((m) => "count" in m, { ask: "count" })).count,
    /** Resolves when that many requests have come since the reset. */
    reached: async (count) => {
      const arrived = answer((m) => m.reached === count)
      await answer((m) => m.done === "expect", { ask: "expect", count })
      await arrived
    },
    report: async (key, withHits = false) =>
      (await answer((m) => "report" in m, { ask: "report", key, withHits })).report,
    stop: () => child.disconnect()
  }
}
