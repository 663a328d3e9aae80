/** A connection that breaks during its setup: the caller gets an error, and the process goes on. */
import { type AddressInfo, connect, createServer, type Server } from "node:net"
import { expect, it } from "@effect/vitest"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Effect, Exit, Layer, Redacted } from "effect"
import * as Database from "../../src/client/Database.ts"

/** A proxy to the database that cuts each connection on which `text` is sent. */
const lineThatCuts = (target: URL, text: string) =>
  Effect.acquireRelease(
    Effect.async<Server>((resume) => {
      const server = createServer((near) => {
        const far = connect(Number(target.port), target.hostname)
        for (const [one, other] of [
          [near, far],
          [far, near]
        ] as const) {
          one.on("error", () => undefined)
          one.on("close", () => other.destroy())
        }
        near.on("data", (chunk: Buffer) => {
          if (chunk.includes(text)) near.destroy()
          else far.write(chunk)
        })
        far.on("data", (chunk: Buffer) => near.write(chunk))
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )

/** Errors that would have ended the process. */
const uncaughtErrors = Effect.gen(function* () {
  const errors: Array<unknown> = []
  const hear = (error: unknown) => void errors.push(error)
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("uncaughtExceptionMonitor", hear)),
    () => Effect.sync(() => process.off("uncaughtExceptionMonitor", hear))
  )
  return errors
})

it.scopedLive("§3.4 a connection that breaks during its setup does not end the process", () =>
  Effect.gen(function* () {
    const direct = Redacted.value(yield* freshDatabase)
    const url = new URL(direct)
    const line = yield* lineThatCuts(new URL(direct), "default_transaction_isolation")
    url.hostname = "127.0.0.1"
    url.port = String((line.address() as AddressInfo).port)

    const uncaught = yield* uncaughtErrors
    const exit = yield* Effect.exit(
      Layer.build(
        Database.layer({
          url: Redacted.make(url.href),
          applicationName: "posthorn-test",
          maxConnections: 1
        })
      )
    )

    // biome-ignore lint/plugin: an uncaught error would come by then
    yield* Effect.sleep("200 millis")
    expect(String(Exit.isFailure(exit) && exit.cause)).toContain("Failed to connect")
    expect(uncaught).toEqual([])
  })
)
