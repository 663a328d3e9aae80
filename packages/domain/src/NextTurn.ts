/** Lets the event loop go on: sockets are read before what follows. (`Effect.yieldNow` may go on in a microtask.) */
import { Effect } from "effect"

export const nextTurn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
