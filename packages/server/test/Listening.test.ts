/** A server that listens already, and is not there yet to answer. */
import type { AddressInfo } from "node:net"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ConnectionLimits } from "../src/http/ConnectionLimits.ts"
import { makeListener } from "../src/http/Listener.ts"

it.scopedLive("decision §5 answers what came in the moment between listening and being ready", () =>
  Effect.gen(function* () {
    const { attend, server } = makeListener("http://posthorn.test", yield* ConnectionLimits)
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => server.close())
    )
    const { port } = server.address() as AddressInfo
    const ask = (body: string) =>
      Effect.promise(() =>
        fetch(`http://127.0.0.1:${port}/`, { method: "POST", body }).then((answer) => answer.text())
      )
    const arrived = Effect.async<void>((resume) => void server.once("request", () => resume(Effect.void)))

    const first = yield* Effect.fork(ask("early"))
    yield* arrived
    attend((message, response) => {
      message.setEncoding("utf8").on("data", (text: string) => response.end(`heard ${text}`))
    })

    expect(yield* first).toBe("heard early")
    expect(yield* ask("late")).toBe("heard late")
  })
)
