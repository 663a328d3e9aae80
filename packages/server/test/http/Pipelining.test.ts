import { createServer, type ServerResponse } from "node:http"
import { connect } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { boundPipelining } from "../../src/http/Pipelining.ts"

const AT_ONCE = 16
const REQUESTS = 20_000
/** The most bytes of one read. */
const READ_BYTES = 65_536

/** Writes all requests at once; each is answered with its own path, one turn of the event loop later. */
const pipeline = (method: string, body: string) =>
  Effect.async<{ readonly most: number; readonly paths: ReadonlyArray<string> }>((resume) => {
    let most = 0
    let underWay = 0
    const server = createServer()
    boundPipelining(server, AT_ONCE)
    server.on("request", (message, response: ServerResponse) => {
      most = Math.max(most, ++underWay)
      response.once("close", () => underWay--)
      message.resume()
      setImmediate(() => response.end(`<${message.url}>`))
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      const socket = connect(port, "127.0.0.1")
      let received = ""
      socket.setEncoding("latin1")
      socket.on("data", (chunk: string) => {
        received += chunk
        if (received.endsWith(`</${REQUESTS}>`) || received.endsWith(`</${REQUESTS}>\r\n0\r\n\r\n`))
          socket.end()
      })
      socket.on("close", () => {
        server.close()
        const paths = Array.from(received.matchAll(/<\/(\d+)>/g), ([, path]) => path!)
        resume(Effect.succeed({ most, paths }))
      })
      const lines = Array.from(
        { length: REQUESTS },
        (_, index) =>
          `${method} /${index + 1} HTTP/1.1\r\nhost: x\r\nx-filler: ${"x".repeat(200)}\r\n` +
          `content-length: ${body.length}\r\n\r\n${body}`
      )
      socket.write(lines.join(""))
    })
  })

describe("pipelining", () => {
  it.each([
    ["without a body", "GET", ""],
    ["with a body", "POST", "x".repeat(100)]
  ])(
    "§7.1 of 20,000 requests written at once, %s, a few run at a time, and all are answered in order",
    (_, method, body) =>
      Effect.runPromise(
        Effect.map(pipeline(method, body), ({ most, paths }) => {
          expect(paths).toEqual(Array.from({ length: REQUESTS }, (_each, index) => String(index + 1)))
          expect(most).toBeLessThanOrEqual(AT_ONCE + READ_BYTES / 240)
        })
      )
  )
})
