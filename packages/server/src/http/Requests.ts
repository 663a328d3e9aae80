/**
 * What every request passes, whoever answers it: it gets its trace id, its body's limits and its deadline, and every failure
 * becomes an answer of the common shape.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import {
  type HttpApp,
  HttpBody,
  type HttpRouter,
  HttpServerRequest,
  HttpServerResponse
} from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import {
  BODY_LIMIT,
  invalid,
  MethodNotAllowed,
  NoAuthorizationServer,
  type PublicError,
  RouteNotFound,
  ServiceUnavailable
} from "@posthorn/domain/Errors"
import { callerSpan, continueTrace } from "@posthorn/domain/TraceId"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Cause, Context, Effect, Stream } from "effect"
import { withDeadline } from "../calls/Deadline.ts"
import { Failures, problemOf } from "../calls/Failures.ts"
import { Authentication } from "../gate/Authentication.ts"
import { type Call, CurrentCall } from "../gate/CurrentCall.ts"
import { clientKey } from "../gate/RateLimits.ts"
import type { Turns } from "../gate/Turns.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { bounded, readBody } from "./Admission.ts"
import { BodyBudget, Holding } from "./BodyBudget.ts"
import { clientAddress } from "./ClientAddress.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import { NOSNIFF, UNKNOWN_VERSION, write } from "./NodeServer.ts"
import { Readiness } from "./Readiness.ts"
import { requestSpans } from "./RequestSpans.ts"
import type { RouteTable } from "./RouteTable.ts"

type Response = HttpServerResponse.HttpServerResponse

type Services = HttpRouter.HttpRouter.DefaultServices

/** Answers there may contain a secret that is shown once, or a session's data, so no cache may store them. */
const PRIVATE = /^\/(?:mcp\/?$|console\/(?:api\/|session\/?$|link\/?$))/

/** Paths whose bodies are read before authentication: a code or a token fits into the limit. */
const SIGN_IN = /^\/console\/(?:session|link)\/?$/
const SIGN_IN_LIMIT = 4_096

/** Where clients look for an authorisation server, before or after a 401. */
const OAUTH =
  /^\/\.well-known\/(?:oauth-protected-resource|oauth-authorization-server|openid-configuration)(?:\/mcp)?\/?$/

const LINGER = "2 seconds"

/** Up to this many bytes of an unread body are discarded without closing the connection. */
const HARMLESS_BYTES = 65_536

const isStillSending = ({ complete, headers }: IncomingMessage) =>
  !complete &&
  (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > HARMLESS_BYTES)

const ended = (message: IncomingMessage) =>
  Effect.async<void>((resume) => {
    const done = () => resume(Effect.void)
    message.once("end", done).once("close", done).resume()
  })

/**
 * An answer to a client that is still sending. It closes the connection, but first discards incoming data for a moment:
 * otherwise the kernel would reset the connection, and the answer would be lost.
 */
const lingering = (message: IncomingMessage, response: Response): Response => {
  const { body } = response
  const text =
    body._tag === "Uint8Array" ? body.body : Buffer.from(body._tag === "Raw" ? String(body.body) : "")
  const rest = Stream.drain(Stream.fromEffect(Effect.timeoutOption(ended(message), LINGER)))
  return HttpServerResponse.setBody(
    HttpServerResponse.setHeader(response, "connection", "close"),
    HttpBody.stream(Stream.concat(Stream.make(text), rest), body.contentType, text.length)
  )
}

/** Requests that Node accepts and this server refuses. */
const oddity = ({ httpVersion, url = "" }: IncomingMessage): PublicError | undefined => {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return invalid("", UNKNOWN_VERSION)
  // Programs disagree on whether it ends the path: a proxy that checks the path must not see another one than this server.
  if (url.includes("#")) return invalid("", "The request target holds a #: write it as %23")
  return undefined
}

const readableSegment = (segment: string) => {
  try {
    decodeURIComponent(segment)
    return segment
  } catch {
    return "-"
  }
}

/** If a query member is repeated, the last one counts. */
const lastOfEach = (query: string) => {
  const members = [...new URLSearchParams(query)]
  const last = new Map(members)
  return last.size === members.length ? query : new URLSearchParams([...last]).toString()
}

/**
 * The target for the router. A segment that does not decode is an id that nothing has. A `;` belongs to its segment; it is
 * encoded, because the router would end the path there.
 */
const readable = (url: string) => {
  if (!/[;%&]/.test(url)) return url
  const at = url.indexOf("?")
  const path = at < 0 ? url : url.slice(0, at)
  const segments = path.replaceAll(";", "%3B").split("/").map(readableSegment).join("/")
  return at < 0 ? segments : `${segments}?${lastOfEach(url.slice(at + 1))}`
}

const mayHaveBody = (method: string) => method === "POST" || method === "PATCH" || method === "PUT"

const tooLate = new ServiceUnavailable({ retryAfterSeconds: 2 })

/** The platform's status for a client that no longer waits for an answer. */
const CLIENT_GONE = 499

/** Wraps `app` for all requests. */
export const makeRequests = (app: HttpApp.Default<unknown, Services>, routes: RouteTable, turns: Turns) =>
  Effect.gen(function* () {
    const { bearer, lineOf } = yield* Authentication
    const failures = yield* Failures
    const readiness = yield* Readiness
    const { baseUrl, trustedProxies } = yield* ServerConfig
    const { bodyBytes, bodyMs } = yield* ConnectionLimits
    const budget = new BodyBudget(bodyBytes)
    const traced = yield* requestSpans
    const clock = yield* Effect.clock

    /** Pipelined requests stay in one line, even if their token becomes known meanwhile: so they keep their order. */
    const lines = new WeakMap<Socket, { readonly line: string; readonly last: ServerResponse }>()
    const lineFor = ({ headers, socket }: IncomingMessage, response: ServerResponse, client: string) => {
      const before = lines.get(socket)
      const line =
        before?.last.writableFinished === false ? before.line : lineOf(headers.authorization, client)
      lines.set(socket, { line, last: response })
      return line
    }

    const missing = (pathname: string) => {
      const allow = routes.allowed(pathname)
      if (allow !== undefined) return new MethodNotAllowed({ allow })
      return OAUTH.test(pathname) ? new NoAuthorizationServer() : new RouteNotFound()
    }

    const bodyBounds = (response: ServerResponse, pathname: string, { holder }: Call) => ({
      limitBytes: SIGN_IN.test(pathname) ? SIGN_IN_LIMIT : BODY_LIMIT,
      deadlineMs: bodyMs,
      // Behind the gate a body is read after authentication.
      holding: () => new Holding(budget, holder.key, response)
    })

    return Effect.contextWithEffect(
      (context: Context.Context<Services | HttpServerRequest.HttpServerRequest>) => {
        const connected = Context.get(context, HttpServerRequest.HttpServerRequest)
        const message = NodeHttpServerRequest.toIncomingMessage(connected)
        const response = NodeHttpServerRequest.toServerResponse(connected)
        const { headers, method, socket } = message
        const peer = socket.remoteAddress ?? ""
        const client = clientAddress(peer, headers, trustedProxies)
        const arrived = client === peer ? connected : connected.modify({ remoteAddress: client })
        const began = elapsed(clock)
        const traceparent = headers.traceparent as string | undefined
        const traceId = continueTrace(traceparent)
        const pathname = arrived.url.split("?", 1)[0]!

        const failed = (cause: Cause.Cause<unknown>): Effect.Effect<Response> =>
          response.destroyed && Cause.isInterruptedOnly(cause)
            ? Effect.succeed(HttpServerResponse.empty({ status: CLIENT_GONE }))
            : failures.answer(cause, traceId, () => missing(pathname))

        const finished = (answer: Response): Response => {
          const common: Record<string, string> = { ...NOSNIFF, "x-trace-id": traceId }
          if (PRIVATE.test(pathname)) common["cache-control"] = "no-store"
          if (readiness.isDraining()) common.connection = "close"
          const whole = HttpServerResponse.setHeaders(answer, common)
          return isStillSending(message) ? lingering(message, whole) : whole
        }

        const refusal = oddity(message) ?? (routes.has(pathname) ? undefined : missing(pathname))
        if (refusal !== undefined)
          return Effect.succeed(
            HttpServerResponse.setHeader(finished(failures.refuse(refusal, traceId)), "connection", "close")
          )

        const late = () => {
          const problem = problemOf(tooLate, baseUrl, traceId)
          write(response, problem, traceId, !message.complete)
        }
        return withDeadline(late, (deadline) => {
          const line = lineFor(message, response, client)
          const call: Call = {
            via: "rest",
            traceId,
            connection: `${peer} ${socket.remotePort}`,
            began,
            holder: { key: clientKey(client) },
            deadline,
            isTool: false,
            fault: null,
            authenticate: () => bearer(headers.authorization, client)
          }
          const url = readable(arrived.url)
          const request = mayHaveBody(method!)
            ? bounded(arrived, readBody(message, bodyBounds(response, pathname, call), deadline), {
                url
              })
            : url === arrived.url
              ? arrived
              : arrived.modify({ url })
          const answering = Effect.matchCauseEffect(
            Effect.mapInputContext(app, (outer: Context.Context<Services>) =>
              outer.pipe(
                Context.add(CurrentCall, call),
                Context.add(HttpServerRequest.HttpServerRequest, request)
              )
            ),
            { onFailure: failed, onSuccess: Effect.succeed }
          )
          const entry = traced === undefined ? undefined : routes.operation(method!, pathname)
          return Effect.map(
            turns.begin(line)(
              entry === undefined || traced === undefined
                ? answering
                : traced(entry, call, callerSpan(traceparent))(answering)
            ),
            (answer) => {
              deadline.stop()
              return finished(answer)
            }
          )
        })
      }
    )
  })
