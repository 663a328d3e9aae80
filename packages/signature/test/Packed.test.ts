import { createServer } from "node:net"
import { expect, it } from "@effect/vitest"
import { generateSecret, sign } from "@posthorn/signature"
import { ended, installPacked, readmeBlock } from "@posthorn/testkit/Packed"
import { Effect, Schedule } from "effect"

const freePort = Effect.async<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

const post = (port: number, secret: string, body: string) => {
  const [id, timestamp] = ["whd_1", Math.floor(Date.now() / 1000)]
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": sign({ id, timestamp, body, secrets: [secret] })
  }
  return Effect.tryPromise(async () => {
    const response = await fetch(`http://127.0.0.1:${port}`, { method: "POST", headers, body })
    return { status: response.status, text: await response.text() }
  })
}

it.scopedLive("§4.1 the packed library verifies under plain Node as its README shows", () =>
  Effect.gen(function* () {
    const installed = yield* installPacked("signature")
    const [secret, port] = [generateSecret(), yield* freePort]
    installed.write("receive.mjs", readmeBlock("signature", "js").replace("3000", String(port)))
    const receiver = yield* Effect.acquireRelease(
      Effect.sync(() => installed.node(["receive.mjs"], { WEBHOOK_SECRET: secret })),
      (child) => Effect.sync(() => child.kill())
    )
    yield* Effect.forkScoped(ended(receiver))

    const genuine = yield* Effect.retry(post(port, secret, "{}"), Schedule.spaced("50 millis"))
    const foreign = yield* post(port, generateSecret(), "{}")

    expect(genuine).toEqual({ status: 200, text: "" })
    expect(foreign).toEqual({ status: 401, text: "signature_mismatch" })
  })
)
