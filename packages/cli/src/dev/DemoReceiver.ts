/**
 * The demo's receiver: a small HTTP server on loopback that verifies each delivery as a customer's would.
 *
 * It reads the raw body, verifies it with the signing secret, and answers 200, or 401 if the signature is wrong. It reports
 * each request to `seen`.
 */
import { createServer, type IncomingMessage } from "node:http"
import { verify } from "@posthorn/signature"
import { Effect, Queue, Redacted } from "effect"

export interface Receipt {
  readonly deliveryId: string
  readonly eventType: string
  readonly verified: boolean
}

const bodyOf = async (request: IncomingMessage) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const receive = async (request: IncomingMessage, secret: Redacted.Redacted | undefined): Promise<Receipt> => {
  const body = await bodyOf(request)
  const deliveryId = String(request.headers["webhook-id"] ?? "")
  try {
    verify({ secrets: [secret === undefined ? "" : Redacted.value(secret)], headers: request.headers, body })
    return { deliveryId, eventType: String(JSON.parse(body.toString("utf8")).eventType), verified: true }
  } catch {
    return { deliveryId, eventType: "", verified: false }
  }
}

/** Listens on the port, or on any free one if it is taken. The secret may be set later. */
export const make = (wishedPort: number) =>
  Effect.gen(function* () {
    const seen = yield* Queue.unbounded<Receipt>()
    let secret: Redacted.Redacted | undefined
    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        createServer((request, response) => {
          receive(request, secret).then(
            (receipt) => {
              response
                .writeHead(receipt.verified ? 200 : 401)
                .end(receipt.verified ? "thank you" : "bad signature")
              Effect.runSync(Queue.offer(seen, receipt))
            },
            () => response.destroy()
          )
        })
      ),
      (server) =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const listen = (port: number) =>
      Effect.async<number, Error>((resume) => {
        server.once("error", (error) => resume(Effect.fail(error)))
        server.listen(port, "127.0.0.1", () =>
          resume(Effect.succeed((server.address() as { port: number }).port))
        )
      })
    const port = yield* listen(wishedPort).pipe(
      Effect.orElse(() => listen(0)),
      Effect.orDie
    )
    return { port, seen, trust: (text: string) => Effect.sync(() => (secret = Redacted.make(text))) } as const
  })
