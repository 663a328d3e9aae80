/**
 * Writes an answer to Node's response.
 *
 * In one write: head and body leave together, as text. An answer that comes before the request body has been read
 * closes the connection, but lingers: the caller gets the whole answer while it is still sending, and what it sends is
 * thrown away for at most `LINGER_MS`. Without that the kernel resets the connection and the answer is lost.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Answer } from "../Calls.ts"

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

export const send = (message: IncomingMessage, response: ServerResponse, answer: Answer, traceId: string) => {
  if (response.headersSent || response.destroyed) return
  const { body, contentType, headers, status } = answer
  const head: Record<string, string | number> = { ...headers, ...NOSNIFF, "x-trace-id": traceId }
  const bytes = Buffer.byteLength(body)
  if (contentType !== null) {
    head["content-type"] = contentType
    head["content-length"] = bytes
  }
  // As many bytes as characters: all ASCII, which is copied instead of encoded.
  const encoding = bytes === body.length ? "latin1" : "utf8"
  if (!isStillSending(message)) {
    response.writeHead(status, head).end(body, encoding)
    return
  }
  response.writeHead(status, { ...head, connection: "close" }).write(body, encoding)
  linger(message, response)
}
