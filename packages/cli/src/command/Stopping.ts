/**
 * Says why, when stopping takes a moment. It handles only the first signal; then the system's default applies, so that a second
 * Ctrl-C ends the process at once.
 */
import { Effect } from "effect"
import { complain } from "./Terminal.ts"

const SIGNALS = ["SIGINT", "SIGTERM"] as const
const QUICK_MS = 300
const LINE = "Stopping: what is in flight is finished first; Ctrl-C again stops at once."

export const announceStop = Effect.sync(() => {
  const onSignal = () => {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal)
    setTimeout(() => Effect.runSync(complain(LINE, "info")), QUICK_MS).unref()
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
})
