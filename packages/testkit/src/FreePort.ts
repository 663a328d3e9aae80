/**
 * A port of 127.0.0.1 that was free a moment ago, of those that no system gives to a connection by itself (Linux from 32768 on,
 * others from 49152 on): otherwise one that is opened before somebody listens here, or while he is away, may have it.
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
