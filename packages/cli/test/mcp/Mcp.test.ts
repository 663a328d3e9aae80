import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { PassThrough } from "node:stream"
import { describe, expect, it } from "@effect/vitest"
import { type Environment, makeBundle, runCommand } from "@posthorn/testkit/Command"
import { until } from "@posthorn/testkit/Until"
import { Effect, Redacted } from "effect"
import { beforeAll } from "vitest"
import { proxy } from "../../src/mcp/McpProxy.ts"

interface Asked {
  readonly body: string
  readonly headers: IncomingMessage["headers"]
  readonly response: ServerResponse
}

/** A server that passes each request to the test, and the pipes of a proxy in front of it. */
const setting = (answer: (asked: Asked) => void) =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>>((resume) => {
        const listening = createServer(async (request, response) => {
          let body = ""
          for await (const chunk of request) body += chunk
          answer({ body, headers: request.headers, response })
        })
        listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
      }),
      (listening) => Effect.sync(() => listening.close().closeAllConnections())
    )
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { server, url, ...pipes(url) }
  })

const pipes = (url: string) => {
  const input = new PassThrough()
  const output = new PassThrough()
  const complaints: Array<string> = []
  const written: Array<string> = []
  output.on("data", (chunk: Buffer) =>
    written.push(
      ...chunk
        .toString()
        .split("\n")
        .filter((line) => line !== "")
    )
  )
  const done = proxy(
    { url, token: Redacted.make("phk_1") },
    { input, output, complain: (line) => complaints.push(line) }
  )
  /** Ends the input, and waits until every request is answered. */
  const ended = Effect.promise(async () => {
    input.end()
    await done
    return written
  })
  return { input, written, complaints, ended }
}

const json = (response: ServerResponse, body: string, status = 200, type = "application/json") =>
  response.writeHead(status, { "content-type": type }).end(body)

const PROBLEM = '{"_tag":"Unauthorized","detail":"This needs a valid API token.","status":401}'

describe("posthorn mcp", () => {
  it.scoped("§4.7 carries messages and answers unchanged, each on one line", () =>
    Effect.gen(function* () {
      const line =
        '{"jsonrpc":"2.0", "id":1,"method":"x","params":{"n":1.0,"big":9007199254740993,"s":"\u2028é"}}'
      const asked: Array<Asked> = []
      const { ended, input } = yield* setting((one) => {
        asked.push(one)
        json(one.response, '{"id":1,\n"result":{"n":1.50}}')
      })

      input.write(line.slice(0, 70))
      input.write(`${line.slice(70)}\r\n\n`)
      const written = yield* ended

      expect(asked.map(({ body }) => body)).toEqual([line])
      expect(asked[0]!.headers).toMatchObject({
        authorization: "Bearer phk_1",
        "content-type": "application/json",
        accept: "application/json, text/event-stream"
      })
      expect(written).toEqual(['{"id":1, "result":{"n":1.50}}'])
    })
  )

  it.scoped("§4.7 answers nothing to a notification, whatever the server returns", () =>
    Effect.gen(function* () {
      const { complaints, ended, input } = yield* setting(({ body, response }) =>
        body.includes("initialized")
          ? response.writeHead(202).end()
          : json(response, PROBLEM, 401, "application/problem+json")
      )

      input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
      input.write('{"jsonrpc":"2.0","method":"notifications/other"}\n')

      expect(yield* ended).toEqual([])
      expect(complaints).toEqual([
        "posthorn mcp: POSTHORN_TOKEN is no valid API token: it may have expired or been revoked."
      ])
    })
  )

  it.scoped("§4.7 turns a refusal of the gate into an error of the request, with its id unchanged", () =>
    Effect.gen(function* () {
      const { ended, input } = yield* setting(({ response }) =>
        json(response, PROBLEM, 401, "application/problem+json")
      )

      input.write('{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}\n')
      const [answer] = yield* ended

      expect(answer).toBe(
        `{"jsonrpc":"2.0","id":12345678901234567890,"error":{"code":-32000,"message":"POSTHORN_TOKEN is no valid API token: it may have expired or been revoked.","data":${PROBLEM}}}`
      )
    })
  )

  it.scoped("§4.7 answers each request of a batch when the server is unreachable", () =>
    Effect.gen(function* () {
      const { ended, input, server } = yield* setting(() => undefined)
      yield* Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))

      input.write(
        '[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":"c","method":"c"}]\n'
      )
      const [answer] = yield* ended

      expect(JSON.parse(answer!)).toMatchObject([
        { id: 1, error: { code: -32001, message: expect.stringContaining("POSTHORN_URL") } },
        { id: "c", error: { code: -32001 } }
      ])
    })
  )

  it.scopedLive("§4.7 carries requests concurrently: a slow one delays no other", () =>
    Effect.gen(function* () {
      const slow: Array<ServerResponse> = []
      const { ended, input } = yield* setting(({ body, response }) => {
        if (body.includes("slow")) slow.push(response)
        else {
          json(response, '{"id":2}')
          for (const waiting of slow) json(waiting, '{"id":1}')
        }
      })

      input.write('{"jsonrpc":"2.0","id":1,"method":"slow"}\n')
      yield* until(
        Effect.sync(() => slow.length),
        (n) => n === 1
      )
      input.write('{"jsonrpc":"2.0","id":2,"method":"quick"}\n')

      expect((yield* ended).toSorted()).toEqual(['{"id":1}', '{"id":2}'])
    })
  )

  it.scopedLive("§4.7 aborts the request that a cancellation names, and answers neither", () =>
    Effect.gen(function* () {
      const closed: Array<string> = []
      const open: Array<string> = []
      const { ended, input } = yield* setting(({ body, response }) => {
        if (body.includes("cancelled")) return response.writeHead(202).end()
        open.push(body)
        return response.on("close", () => closed.push(body))
      })

      input.write('{"jsonrpc":"2.0","id":"a","method":"slow"}\n')
      yield* until(
        Effect.sync(() => open.length),
        (n) => n === 1
      )
      input.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}\n')

      expect(yield* ended).toEqual([])
      yield* until(
        Effect.sync(() => closed.length),
        (n) => n === 1
      )
    })
  )

  it.scoped("§4.7 leaves a line that is not JSON to the server", () =>
    Effect.gen(function* () {
      const { ended, input } = yield* setting(({ body, response }) =>
        json(response, `{"id":null,"error":"${body}"}`, 400)
      )

      input.write("nonsense\n")

      expect(yield* ended).toEqual(['{"id":null,"error":"nonsense"}'])
    })
  )
})

/** The command itself, as a process. */
const command = (env: Environment, input: string) => Effect.promise(() => runCommand(["mcp"], env, input))

beforeAll(makeBundle, 240_000)

describe("the command posthorn mcp", () => {
  it.scopedLive("§4.7 says on standard error which variables are missing", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* command({ POSTHORN_URL: "ftp://example.com" }, "")

      expect([code, out]).toEqual([1, ""])
      expect(err.trim().split("\n")).toEqual([
        expect.stringMatching(/^posthorn: POSTHORN_URL must be an http or https address/),
        expect.stringMatching(/^posthorn: POSTHORN_TOKEN is not set, for example/)
      ])
    })
  )

  it.scopedLive("§4.7 writes nothing but answers to standard output, and ends with its input", () =>
    Effect.gen(function* () {
      const asked: Array<string | undefined> = []
      const { url } = yield* setting(({ headers, response }) => {
        asked.push(headers.authorization)
        json(response, '{"id":1}')
      })

      const { code, err, out } = yield* command(
        { POSTHORN_URL: `${url}/mcp/`, POSTHORN_TOKEN: " phk_2 " },
        '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
      )

      expect([code, out, err]).toEqual([0, '{"id":1}\n', ""])
      expect(asked).toEqual(["Bearer phk_2"])
    })
  )
})
