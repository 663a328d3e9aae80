/** Long work in pieces: nothing else of the process waits for longer than `TURN_MS` and one piece. */
import { nextTurn } from "@posthorn/domain/NextTurn"
import { Effect } from "effect"

const TURN_MS = 10

/** For one work; run between its pieces, it lets the event loop go on once each `TURN_MS`. */
export const pausing = () => {
  let began = performance.now()
  return Effect.suspend(() => {
    if (performance.now() - began < TURN_MS) return Effect.void
    return Effect.map(nextTurn, () => {
      began = performance.now()
    })
  })
}
