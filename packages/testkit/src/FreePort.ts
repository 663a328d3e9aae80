/**
 * A port of 127.0.0.1 that was free a moment ago, below the ephemeral ports (from 32768 on Linux, from 49152 elsewhere):
 * otherwise an outgoing connection might take it before the test listens, or while its server is stopped.
 */
import { createServer } from "node:net"
import { Effect } from "effect"

const FIRST = 10_000
const LAST = 32_000

export const freePort: Effect.Effect<number> = Effect.async<number>((resume) => {
  const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
  const server = createServer()
  server.once("error", () => resume(freePort))
  server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
    server.close(() => resume(Effect.succeed(port)))
  })
})
