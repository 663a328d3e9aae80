/**
 * Which request bodies are accepted: at most 1 MiB (4 KiB for signing in), valid UTF-8, JSON, and complete in time.
 *
 * A body that announces a larger size is refused before it is read. Bytes are counted as they arrive, so a body without a
 * length, or with a wrong one, is stopped at the limit too. A body that misses its deadline is 408, unlike the 503 of a slow
 * server. Every handler reads its body from here: `bounded` replaces the platform's own body, which checks no media type,
 * closes the connection at the limit, and parses anything.
 * Source: spec §2.7.
 */
import type { IncomingMessage } from "node:http"
import { HttpIncomingMessage, HttpServerError, HttpServerRequest } from "@effect/platform"
import type { ContractEntry } from "@posthorn/api-contract/Contract"
import {
  BODY_LIMIT,
  type InvalidRequest,
  invalid,
  PayloadTooLarge,
  RequestTimeout,
  ServiceUnavailable,
  UnsupportedMediaType
} from "@posthorn/domain/Errors"
import { MAX_VALUES, parseJson } from "@posthorn/domain/JsonText"
import { Effect, Either, Inspectable, Stream } from "effect"
import type { Deadline } from "../calls/Deadline.ts"
import type { Holding } from "./BodyBudget.ts"

const JSON_TYPE = /^application\/json\s*(;|$)/i
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i

/** Whether a body is JSON that this server accepts: UTF-8, not compressed. */
const isJson = (headers: IncomingMessage["headers"]) => {
  const type = headers["content-type"] ?? ""
  const charset = CHARSET.exec(type)?.[1] ?? "utf-8"
  const encoding = headers["content-encoding"] ?? "identity"
  return JSON_TYPE.test(type) && /^utf-?8$/i.test(charset) && /^(identity)?$/i.test(encoding)
}

/** Whether no body follows these headers. */
const isEmpty = (headers: IncomingMessage["headers"]) =>
  headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0

export const declaresTooMuch = ({ headers }: IncomingMessage, limitBytes = BODY_LIMIT) =>
  Number(headers["content-length"] ?? 0) > limitBytes

type BodyRefusal =
  | InvalidRequest
  | PayloadTooLarge
  | RequestTimeout
  | ServiceUnavailable
  | UnsupportedMediaType

const NO_ROOM = Effect.fail(new ServiceUnavailable({ retryAfterSeconds: 1 }))

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })

const decode = (chunks: ReadonlyArray<Buffer>) =>
  Effect.try({
    try: () => utf8.decode(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
    catch: () => invalid("", "The body is not valid UTF-8")
  })

const tooLarge = (limitBytes: number) => Effect.fail(new PayloadTooLarge({ limitBytes }))

/** The limits for a request's body. */
interface BodyBounds {
  readonly limitBytes: number
  readonly deadlineMs: number
  readonly holding: () => Holding
}

const receive = (message: IncomingMessage, { deadlineMs, holding, limitBytes }: BodyBounds) =>
  Effect.async<string, BodyRefusal>((resume) => {
    const chunks: Array<Buffer> = []
    const held = holding()
    let size = 0
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size <= limitBytes && held.take(chunk.length)) return void chunks.push(chunk)
      message.pause()
      stop(size > limitBytes ? tooLarge(limitBytes) : NO_ROOM)
    }
    const stop = (outcome: Effect.Effect<string, BodyRefusal>) => {
      clearTimeout(timer)
      message.off("data", take)
      resume(outcome)
    }
    const timer = setTimeout(() => stop(Effect.fail(new RequestTimeout())), deadlineMs)
    message.on("data", take)
    message.on("end", () => stop(decode(chunks)))
    message.on("error", () => stop(Effect.fail(invalid("", "The body was cut short"))))
    return Effect.sync(() => clearTimeout(timer))
  })

/** The text of the body, read once. */
export const readBody = (message: IncomingMessage, bounds: BodyBounds, deadline: Deadline) => {
  let known: string | undefined
  return Effect.suspend((): Effect.Effect<string, BodyRefusal> => {
    if (known !== undefined) return Effect.succeed(known)
    if (isEmpty(message.headers)) return Effect.succeed("")
    if (!isJson(message.headers)) return Effect.fail(new UnsupportedMediaType())
    if (declaresTooMuch(message, bounds.limitBytes)) return tooLarge(bounds.limitBytes)
    deadline.pause()
    return Effect.map(receive(message, bounds), (text) => {
      deadline.resume()
      known = text
      return text
    })
  })
}

/**
 * Most values in a body: several times as many as the largest operation needs, so that refusing is cheap. The schema library
 * takes 0.1 ms for each wrong value. A batch, whose elements have raw members, may have more.
 */
const FEW_VALUES = 300

export const parseBounds = (raw: ReadonlyArray<ReadonlyArray<string>>) => ({
  rawUnparsed: true,
  values: raw.some((path) => path.slice(0, -1).includes("*")) ? MAX_VALUES : FEW_VALUES
})

/** Parsed JSON, with the values at the `raw` paths as `JsonText`, whose syntax is not checked yet. */
export const parseBody = (
  text: string,
  raw: ReadonlyArray<ReadonlyArray<string>> = []
): Either.Either<unknown, InvalidRequest> => {
  if (text.trim() === "") return Either.left(invalid("", "The body is empty: send a JSON object"))
  return Either.mapLeft(parseJson(text, raw, parseBounds(raw)), ({ message, path }) => invalid(path, message))
}

/** The platform's request with another body, and, for a tool call, with another method and target. */
class BoundedRequest implements HttpServerRequest.HttpServerRequest {
  readonly [HttpServerRequest.TypeId]: HttpServerRequest.TypeId = HttpServerRequest.TypeId
  readonly [HttpIncomingMessage.TypeId]: HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly method: HttpServerRequest.HttpServerRequest["method"]
  readonly url: string
  private readonly inner: HttpServerRequest.HttpServerRequest
  private readonly body: Effect.Effect<string, BodyRefusal>

  constructor(
    inner: HttpServerRequest.HttpServerRequest,
    body: Effect.Effect<string, BodyRefusal>,
    method: HttpServerRequest.HttpServerRequest["method"],
    url: string
  ) {
    this.inner = inner
    this.body = body
    this.method = method
    this.url = url
  }

  private refusedBy(cause: BodyRefusal): HttpServerError.RequestError {
    return new HttpServerError.RequestError({ request: this, reason: "Decode", cause })
  }

  private get notJson() {
    return Effect.fail(this.refusedBy(new UnsupportedMediaType()))
  }

  get text() {
    return Effect.mapError(this.body, (cause) => this.refusedBy(cause))
  }
  get json() {
    return Effect.mapError(
      Effect.flatMap(this.body, (text) => parseBody(text)),
      (cause) => this.refusedBy(cause)
    )
  }
  get arrayBuffer() {
    return this.notJson
  }
  get urlParamsBody() {
    return this.notJson
  }
  get stream() {
    return Stream.fromEffect(this.notJson)
  }
  get multipart() {
    return Effect.orDie(this.notJson)
  }
  get multipartStream() {
    return Stream.orDie(this.stream)
  }
  get source() {
    return this.inner.source
  }
  get headers() {
    return this.inner.headers
  }
  get cookies() {
    return this.inner.cookies
  }
  get remoteAddress() {
    return this.inner.remoteAddress
  }
  get originalUrl() {
    return this.inner.originalUrl
  }
  get upgrade() {
    return this.inner.upgrade
  }
  modify(changes: Parameters<HttpServerRequest.HttpServerRequest["modify"]>[0]): BoundedRequest {
    return new BoundedRequest(this.inner.modify(changes), this.body, this.method, changes.url ?? this.url)
  }
  toJSON() {
    return this.inner.toJSON()
  }
  [Inspectable.NodeInspectSymbol]() {
    return this.toJSON()
  }
}

interface Changes {
  readonly method?: ContractEntry["method"]
  readonly url?: string
}

/** The request with this body; anything but JSON is refused. */
export const bounded = (
  request: HttpServerRequest.HttpServerRequest,
  body: Effect.Effect<string, BodyRefusal>,
  { method, url }: Changes = {}
): HttpServerRequest.HttpServerRequest =>
  new BoundedRequest(request, body, method ?? request.method, url ?? request.url)
