/**
 * Node's HTTP server, with its limits, and with answers of the common shape where Node has bare ones of its own.
 *
 * Stopping is graceful: no new connections, what is in flight is answered with `connection: close`, and what is still
 * open after the grace is cut. Node's own `close` waits for idle keep-alive connections, and a request that arrives on
 * one of them in that window would find no handler and hang; here it is answered 503.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { PROBLEM_JSON, toProblem } from "@posthorn/api-contract/Problem"
import { invalid, PayloadTooLarge, type PublicError } from "@posthorn/domain/Errors"
import { continueTrace, newTraceId } from "@posthorn/domain/TraceId"
import { Context } from "effect"
import { declaresTooMuch } from "./Body.ts"

export const HEADER_LIMIT = 16_384
const GRACE_MS = 10_000

/** The server that `HttpServer` listens on. */
export class Listener extends Context.Tag("@posthorn/server/Listener")<Listener, Server>() {}

/** What Node's parser refuses never becomes a request: status line and reason of each, written to the socket. */
const refusalOf = (
  code: string | undefined
): readonly [status: string, error: PublicError, detail?: string] => {
  if (code === "HPE_HEADER_OVERFLOW") {
    return [
      "431 Request Header Fields Too Large",
      new PayloadTooLarge({ limitBytes: HEADER_LIMIT }),
      `Request line and headers may have at most ${HEADER_LIMIT} bytes together.`
    ]
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return ["408 Request Timeout", invalid("", "The request did not arrive in time")]
  }
  return ["400 Bad Request", invalid("", NONSENSE[code ?? ""] ?? "This is not a valid HTTP/1.1 request")]
}

/** Why the parser refused, where it says so. */
const NONSENSE: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: "The method is not known, or this is not HTTP/1.1",
  HPE_INVALID_URL: "The request target is not valid",
  HPE_INVALID_CONSTANT: "The version of HTTP is not known here: use HTTP/1.1",
  HPE_INVALID_VERSION: "The version of HTTP is not known here: use HTTP/1.1",
  HPE_INVALID_HEADER_TOKEN: "A header has a character that is not allowed there",
  HPE_INVALID_CONTENT_LENGTH: "The content-length is not valid",
  HPE_UNEXPECTED_CONTENT_LENGTH: "Two headers give the length of the body: send one",
  HPE_INVALID_TRANSFER_ENCODING: "The transfer-encoding is not valid, or comes with a content-length",
  HPE_INVALID_CHUNK_SIZE: "A chunk of the body has no valid size",
  HPE_INVALID_EOF_STATE: "The request was cut short"
}

/** `Expect: 100-continue` is the only expectation there is. */
const refuseExpectation = (baseUrl: string) => (request: IncomingMessage, response: ServerResponse) => {
  const traceId = continueTrace(request.headers.traceparent as string | undefined)
  const refusal = invalid("", "The only Expect header that is known here is 100-continue")
  const body = JSON.stringify(toProblem(refusal, { baseUrl, traceId }))
  const head = {
    "content-type": PROBLEM_JSON,
    "content-length": Buffer.byteLength(body),
    "x-trace-id": traceId,
    connection: "close"
  }
  response.writeHead(400, head).end(body)
}

const refuseSocket = (baseUrl: string) => (error: Error & { readonly code?: string }, socket: Duplex) => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const traceId = newTraceId()
  const [status, refusal, detail] = refusalOf(error.code)
  const problem = toProblem(refusal, { baseUrl, traceId })
  const body = JSON.stringify({
    ...problem,
    status: Number(status.slice(0, 3)),
    detail: detail ?? problem.detail
  })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-trace-id: ${traceId}\r\nconnection: close\r\n\r\n${body}`
  )
}

export const makeListener = (baseUrl: string): Server => {
  const server = createServer({
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    maxHeaderSize: HEADER_LIMIT,
    // Node's own refusal has no body; nothing but /mcp looks at the host, and that refuses by itself.
    requireHostHeader: false
  })
  const open = new Set<ServerResponse>()
  server.on("request", (_request, response) => {
    open.add(response)
    response.once("close", () => open.delete(response))
  })
  server.on("clientError", refuseSocket(baseUrl))
  server.on("checkExpectation", refuseExpectation(baseUrl))
  // Whoever asks before sending too much is refused before sending it.
  server.on("checkContinue", (request, response) => {
    if (!declaresTooMuch(request)) response.writeContinue()
    server.emit("request", request, response)
  })
  const close = server.close.bind(server)
  server.close = (callback) => {
    for (const response of open) response.shouldKeepAlive = false
    const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS)
    return close((error) => {
      clearTimeout(timer)
      callback?.(error)
    })
  }
  return server
}
