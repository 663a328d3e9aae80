/** A port of 127.0.0.1 that was free a moment ago. */
import { createServer } from "node:net"
import { Effect } from "effect"

export const freePort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})
