/**
 * Writes an answer to Node's response.
 *
 * In one write: head and body leave together, as text. An answer that comes before the request body has been read
 * closes the connection, but lingers: the caller gets the whole answer while it is still sending, and what it sends is
 * thrown away for at most `LINGER_MS`. Without that the kernel resets the connection and the answer is lost.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { HttpServerResponse } from "@effect/platform"
import type { Answer } from "../Calls.ts"
import { headersOf } from "../RateLimits.ts"
import type { Exchange } from "./Exchange.ts"

/** Of every answer: a browser takes it for what it says it is, and for nothing else. */
export const NOSNIFF = { "x-content-type-options": "nosniff" } as const

const LINGER_MS = 2_000

const linger = (message: IncomingMessage, response: ServerResponse) => {
  const timer = setTimeout(() => response.end(), LINGER_MS)
  const end = () => {
    clearTimeout(timer)
    response.end()
  }
  message.once("end", end).once("close", end).resume()
}

/** So much may still be on its way and be thrown away without ending the connection. */
const HARMLESS_BYTES = 65_536

const isStillSending = ({ complete, headers }: IncomingMessage) =>
  !complete &&
  (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > HARMLESS_BYTES)

/** An answer's text, all ASCII as a rule: that is copied instead of encoded. */
const textOf = ({ body, contentType }: Answer, head: Record<string, string | number>) => {
  const bytes = Buffer.byteLength(body)
  if (contentType !== null) {
    head["content-type"] = contentType
    head["content-length"] = bytes
  }
  return { content: body, encoding: bytes === body.length ? ("latin1" as const) : ("utf8" as const) }
}

/** What is to be sent: an operation's answer, or a page. */
export type Sent = Answer | HttpServerResponse.HttpServerResponse

/** Gives the status, also when nobody is there to get it. */
export const send = ({ bucket, isPrivate, response, source, traceId }: Exchange, sent: Sent): number => {
  const { headers, status } = sent
  if (response.headersSent || response.destroyed) return status
  const head: Record<string, string | number> = { ...headers, ...NOSNIFF, "x-trace-id": traceId }
  if (bucket !== null) Object.assign(head, headersOf(bucket))
  if (isPrivate) head["cache-control"] = "no-store"
  const { content, encoding } =
    typeof sent.body === "string"
      ? textOf(sent as Answer, head)
      : { content: sent.body._tag === "Uint8Array" ? sent.body.body : "", encoding: "utf8" as const }
  if (!isStillSending(source)) {
    response.writeHead(status, head).end(content, encoding)
    return status
  }
  response.writeHead(status, { ...head, connection: "close" }).write(content, encoding)
  linger(source, response)
  return status
}
