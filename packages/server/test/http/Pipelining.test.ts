import { createServer, type ServerResponse } from "node:http"
import { connect, Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { defaultConnectionLimits } from "../../src/http/ConnectionLimits.ts"
import { makeNodeServer } from "../../src/http/NodeServer.ts"
import { boundPipelining } from "../../src/http/Pipelining.ts"

const AT_ONCE = 16
const REQUESTS = 20_000
/** Writes all requests at once; each is answered with its own path, one turn of the event loop later. */
const pipeline = (method: string, body: string) =>
  Effect.async<{ readonly most: number; readonly paths: ReadonlyArray<string> }>((resume) => {
    let most = 0
    let underWay = 0
    const server = createServer()
    boundPipelining(server, { ofOne: AT_ONCE, ofAll: 64 })
    server.on("request", (message, response: ServerResponse) => {
      most = Math.max(most, ++underWay)
      response.prependOnceListener("close", () => underWay--)
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

/** What a server makes of what is written at once, by the paths of the requests, and what the client receives. */
const written = (texts: ReadonlyArray<string>, ofAll: number, respond: (response: ServerResponse) => void) =>
  Effect.async<{ readonly most: number; readonly paths: ReadonlyArray<string>; readonly closed: number }>(
    (resume) => {
      const paths: Array<string> = []
      let [most, underWay, closed] = [0, 0, 0]
      const server = createServer()
      boundPipelining(server, { ofOne: AT_ONCE, ofAll })
      server.on("request", ({ url = "" }, response: ServerResponse) => {
        paths.push(url)
        most = Math.max(most, ++underWay)
        response.prependOnceListener("close", () => underWay--)
        respond(response)
      })
      server.listen(0, "127.0.0.1", () => {
        for (const text of texts) {
          const socket = connect((server.address() as { readonly port: number }).port, "127.0.0.1")
          socket.write(text)
          let answers = 0
          socket.on("data", (chunk) => {
            answers += String(chunk).split("HTTP/1.1 ").length - 1
            if (answers === text.split("GET ").length - 1) socket.end()
          })
          socket.on("close", () => {
            if (++closed === texts.length) server.close(() => resume(Effect.succeed({ most, paths, closed })))
          })
        }
      })
    }
  )

const askFor = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`

describe("pipelining", () => {
  it.effect("§7.1 what comes behind an answer that closes is never made", () =>
    Effect.gen(function* () {
      const { paths } = yield* written([`${askFor("/a")}${askFor("/b").repeat(3_000)}`], 64, (response) =>
        response.writeHead(404, { connection: "close" }).end()
      )
      expect(paths).toEqual(["/a"])
    })
  )

  it.effect("§7.1 answers end when their connection has closed, waiting behind another, or made later", () =>
    Effect.async<void>((resume) => {
      const server = makeNodeServer("http://x", defaultConnectionLimits)
      const answers: Array<ServerResponse> = []
      const ended = new Set<number>()
      const end = (n: number) =>
        answers[n]!.end("x", () => {
          ended.add(n)
          if (ended.size === AT_ONCE) server.close(() => resume(Effect.void))
        })
      server.on("request", (_, response: ServerResponse) => {
        const n = answers.push(response) - 1
        if (n === 0 || n === AT_ONCE - 1) response.once("close", () => end(n))
        else end(n)
        if (n === AT_ONCE - 1) silent.destroy()
      })
      const silent = new Socket()
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as { readonly port: number }
        silent.connect(port, "127.0.0.1", () => silent.write(askFor("/").repeat(AT_ONCE)))
      })
    })
  )

  it.effect("§7.1 connections that end with requests under way give their places back", () =>
    Effect.async<void>((resume) => {
      const server = createServer()
      boundPipelining(server, { ofOne: AT_ONCE, ofAll: 8 })
      let [made, ended] = [0, 0]
      const held: Array<Socket> = []
      server.on("request", ({ url }, response: ServerResponse) => {
        if (url === "/free") response.end()
        else if (++made === 8) for (const socket of held) socket.destroy()
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as { readonly port: number }
        for (let n = 0; n < 2; n++) {
          const socket = connect(port, "127.0.0.1", () => socket.write(askFor("/held").repeat(8)))
          held.push(socket)
          socket.on("close", () => {
            if (++ended < 2) return
            const free = connect(port, "127.0.0.1", () => free.write(askFor("/free").repeat(20)))
            let answers = 0
            free.on("data", (chunk) => {
              answers += String(chunk).split("HTTP/1.1 200").length - 1
              if (answers < 20) return
              free.destroy()
              server.close(() => resume(Effect.void))
            })
          })
        }
      })
    })
  )

  it.effect("§7.1 of many connections' requests no more exist than all may have, and all are answered", () =>
    Effect.gen(function* () {
      const texts = Array.from({ length: 20 }, () => askFor("/a").repeat(30))
      const { most, paths } = yield* written(texts, 40, (response) => void setImmediate(() => response.end()))
      expect(paths.length).toBe(600)
      expect(most).toBeLessThanOrEqual(40)
    })
  )

  it.each([
    ["without a body", "GET", ""],
    ["with a body", "POST", "x".repeat(100)]
  ])(
    "§7.1 of 20,000 requests written at once, %s, a few run at a time, and all are answered in order",
    (_, method, body) =>
      Effect.runPromise(
        Effect.map(pipeline(method, body), ({ most, paths }) => {
          expect(paths).toEqual(Array.from({ length: REQUESTS }, (_each, index) => String(index + 1)))
          expect(most).toBe(AT_ONCE)
        })
      )
  )
})
