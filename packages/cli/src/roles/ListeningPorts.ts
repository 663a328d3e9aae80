/** Finds ports that nobody listens on, as far as one can tell before listening. */
import { createServer } from "node:net"
import { Data, Effect } from "effect"

/** Listening on this host and port is impossible, even if the port is free. */
export class CannotListen extends Data.TaggedError("CannotListen")<{ readonly code: string }> {
  override get message() {
    return `Cannot listen there (${this.code}). Check HOST and PORT.`
  }
}

/** The port if it is free (0: any free one); -1 if it is taken. */
export const freePort = (port: number, host: string) =>
  Effect.async<number, CannotListen>((resume) => {
    const probe = createServer()
    probe.once("error", ({ code, message }: NodeJS.ErrnoException) =>
      resume(
        code === "EADDRINUSE" ? Effect.succeed(-1) : Effect.fail(new CannotListen({ code: code ?? message }))
      )
    )
    probe.listen({ port, host, exclusive: true }, () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resume(Effect.succeed(port)))
    })
  })
