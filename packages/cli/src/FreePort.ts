/** Ports that nobody listens on, as far as one can tell before listening oneself. */
import { createServer } from "node:net"
import { Effect } from "effect"

/** The port if it is free, with 0 any free one; -1 when it is taken. */
export const freePort = (port: number, host: string) =>
  Effect.async<number>((resume) => {
    const probe = createServer()
    probe.once("error", () => resume(Effect.succeed(-1)))
    probe.listen({ port, host, exclusive: true }, () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resume(Effect.succeed(port)))
    })
  })
