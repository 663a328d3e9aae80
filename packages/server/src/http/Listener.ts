/**
 * Node's HTTP server, with its limits, and with answers of the common shape where Node has bare ones of its own.
 *
 * Stopping is graceful: no new connections, what is in flight is answered with `connection: close`, and what is still
 * open after the grace is cut. Node's own `close` waits for idle keep-alive connections, and a request that arrives on
 * one of them in that window would find no handler and hang; here it is answered 503.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { PROBLEM_JSON, toProblem } from "@posthorn/api-contract/Problem"
import { HeadersTooLarge, invalid, type PublicError, RequestTimeout } from "@posthorn/domain/Errors"
import { continueTrace, newTraceId } from "@posthorn/domain/TraceId"
import { Context } from "effect"
import { declaresTooMuch } from "./Body.ts"
import type { Limits } from "./ConnectionLimits.ts"
import { boundPipelining } from "./Pipelining.ts"
import { NOSNIFF } from "./Send.ts"

export const HEADER_LIMIT = 16_384
const GRACE_MS = 10_000
/** How often Node looks for senders that are late: they are told so at most this much later. */
const LATE_CHECK_MS = 250

type Answering = (message: IncomingMessage, response: ServerResponse) => void

export interface Listening {
  readonly server: Server
  /** From now on `answer` answers, first what has come before: without this it would never be answered. */
  readonly attend: (answer: Answering) => void
}

/** What `HttpServer` listens on. */
export class Listener extends Context.Tag("@posthorn/server/Listener")<Listener, Listening>() {}

/** What Node's parser refuses never becomes a request. */
const refusalOf = (code = ""): PublicError => {
  if (code === "HPE_HEADER_OVERFLOW") return new HeadersTooLarge({ limitBytes: HEADER_LIMIT })
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new RequestTimeout()
  return invalid("", NONSENSE[code] ?? "This is not a valid HTTP/1.1 request")
}

export const UNKNOWN_VERSION = "The version of HTTP is not known here: use HTTP/1.1"

/** Why the parser refused, where it says so. */
const NONSENSE: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: "The method is not known, or this is not HTTP/1.1",
  HPE_INVALID_URL: "The request target is not valid",
  HPE_INVALID_CONSTANT: UNKNOWN_VERSION,
  HPE_INVALID_VERSION: UNKNOWN_VERSION,
  HPE_INVALID_HEADER_TOKEN: "A header has a character that is not allowed there",
  HPE_INVALID_CONTENT_LENGTH: "The content-length is not valid",
  HPE_UNEXPECTED_CONTENT_LENGTH: "Two headers give the length of the body: send one",
  HPE_INVALID_TRANSFER_ENCODING: "The transfer-encoding is not valid, or comes with a content-length",
  HPE_INVALID_CHUNK_SIZE: "A chunk of the body has no valid size",
  HPE_INVALID_EOF_STATE: "The request was cut short"
}

/** A refusal after which the connection ends. */
const ending = (error: PublicError, baseUrl: string, traceId: string) => {
  const problem = toProblem(error, { baseUrl, traceId })
  const body = JSON.stringify(problem)
  const head = {
    "content-type": PROBLEM_JSON,
    "content-length": Buffer.byteLength(body),
    "x-trace-id": traceId,
    ...NOSNIFF,
    connection: "close"
  }
  return { status: problem.status, head, body }
}

/** `Expect: 100-continue` is the only expectation there is. */
const refuseExpectation = (baseUrl: string) => (request: IncomingMessage, response: ServerResponse) => {
  const traceId = continueTrace(request.headers.traceparent as string | undefined)
  const refusal = invalid("", "The only Expect header that is known here is 100-continue")
  const { body, head, status } = ending(refusal, baseUrl, traceId)
  response.writeHead(status, head).end(body)
}

const refuseSocket = (baseUrl: string) => (error: Error & { readonly code?: string }, socket: Duplex) => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const { body, head, status } = ending(refusalOf(error.code), baseUrl, newTraceId())
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`)
}

export const makeListener = (baseUrl: string, limits: Limits): Listening => {
  const server = createServer({
    headersTimeout: limits.headersMs,
    // A body that an operation waits for has its own deadline in Body.ts; this is for those that nobody reads.
    requestTimeout: limits.headersMs + limits.bodyMs,
    connectionsCheckingInterval: LATE_CHECK_MS,
    maxHeaderSize: HEADER_LIMIT,
    // Node's own refusal has no body; nothing but /mcp looks at the host, and that refuses by itself.
    requireHostHeader: false
  })
  server.maxConnections = limits.connections
  const endAfterAnswers = boundPipelining(server, limits.requestsAtOnce)
  const early: Array<Parameters<Answering>> = []
  const keep: Answering = (...one) => void early.push(one)
  server.on("request", keep)
  const attend = (answer: Answering) => {
    server.off("request", keep).on("request", answer)
    for (const one of early.splice(0)) answer(...one)
  }
  server.on("clientError", refuseSocket(baseUrl))
  server.on("checkExpectation", refuseExpectation(baseUrl))
  // Whoever asks before sending too much is refused before sending it.
  server.on("checkContinue", (request, response) => {
    if (!declaresTooMuch(request)) response.writeContinue()
    server.emit("request", request, response)
  })
  const close = server.close.bind(server)
  server.close = (callback) => {
    endAfterAnswers()
    const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS)
    return close((error) => {
      clearTimeout(timer)
      callback?.(error)
    })
  }
  return { attend, server }
}
