/**
 * Node's HTTP server, with its limits, and with answers of the common shape where Node has bare ones of its own.
 *
 * Stopping is graceful: no new connections, what is in flight is answered with `connection: close`, and what is still
 * open after the grace is cut. Node's own `close` waits for idle keep-alive connections, and a request that arrives on
 * one of them in that window would find no handler and hang; here it is answered 503.
 */
import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { PROBLEM_JSON } from "@posthorn/api-contract/Problem"
import { HeadersTooLarge, invalid, type PublicError, RequestTimeout } from "@posthorn/domain/Errors"
import { continueTrace, newTraceId } from "@posthorn/domain/TraceId"
import { problemOf } from "../calls/Failures.ts"
import { declaresTooMuch } from "./Admission.ts"
import type { Limits } from "./ConnectionLimits.ts"
import { boundPipelining } from "./Pipelining.ts"
import { cutStalledAnswers } from "./StalledAnswers.ts"

const HEADER_LIMIT = 16_384
const GRACE_MS = 10_000
/** How often Node looks for senders that are late: they are told so at most this much later. */
const LATE_CHECK_MS = 250

/** Of every answer: a browser takes it for what it says it is, and for nothing else. */
export const NOSNIFF = { "x-content-type-options": "nosniff" } as const

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

type Problem = ReturnType<typeof problemOf>

const headOf = ({ body, headers }: Problem, traceId: string, isLast: boolean) => ({
  ...headers,
  ...NOSNIFF,
  "content-type": PROBLEM_JSON,
  "content-length": Buffer.byteLength(body),
  "x-trace-id": traceId,
  ...(isLast ? { connection: "close" } : {})
})

/** Answers without Effect; after the last answer the connection ends. */
export const write = (response: ServerResponse, problem: Problem, traceId: string, isLast: boolean) => {
  if (response.headersSent || response.destroyed) return
  response.writeHead(problem.status, headOf(problem, traceId, isLast)).end(problem.body)
}

/** Answers every request with this refusal, and ends its connection. */
export const refusing =
  (error: PublicError, baseUrl: string) => (request: IncomingMessage, response: ServerResponse) => {
    const traceId = continueTrace(request.headers.traceparent as string | undefined)
    write(response, problemOf(error, baseUrl, traceId), traceId, true)
  }

const refuseSocket = (baseUrl: string) => (error: Error & { readonly code?: string }, socket: Duplex) => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const traceId = newTraceId()
  const problem = problemOf(refusalOf(error.code), baseUrl, traceId)
  const head = Object.entries(headOf(problem, traceId, true))
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  socket.end(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines}\r\n${problem.body}`)
}

/**
 * Ends for its fiber when its connection has closed, too. Node calls back only once all is sent, and a fiber that waits for that
 * would stay for good, with its request and its answer.
 */
class Answer<Request extends IncomingMessage> extends ServerResponse<Request> {
  override end(...given: ReadonlyArray<unknown>): this {
    const done = given.at(-1)
    if (typeof done === "function") {
      if (this.destroyed) process.nextTick(done)
      else this.once("close", done as () => void)
    }
    return super.end(...(given as Parameters<ServerResponse["end"]>)) as this
  }
}

export const makeNodeServer = (baseUrl: string, limits: Limits): Server => {
  const server = createServer({
    ServerResponse: Answer,
    headersTimeout: limits.headersMs,
    // A body that an operation waits for has its own deadline in Admission.ts; this is for those that nobody reads.
    requestTimeout: limits.headersMs + limits.bodyMs,
    connectionsCheckingInterval: LATE_CHECK_MS,
    maxHeaderSize: HEADER_LIMIT,
    // Node's own refusal has no body; nothing but /mcp looks at the host, and that refuses by itself.
    requireHostHeader: false
  })
  server.maxConnections = limits.connections
  cutStalledAnswers(server, limits.stalledMs)
  const endAfterAnswers = boundPipelining(server, {
    ofOne: limits.requestsAtOnce,
    ofAll: limits.requests
  })
  server.on("clientError", refuseSocket(baseUrl))
  // `Expect: 100-continue` is the only expectation there is.
  const unexpected = invalid("", "The only Expect header that is known here is 100-continue")
  server.on("checkExpectation", refusing(unexpected, baseUrl))
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
  return server
}
