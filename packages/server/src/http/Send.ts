/**
 * Writes an answer to Node's response.
 *
 * In one write: head and body leave together, as text. An answer that comes before the request body has been read
 * closes the connection, but lingers: the caller gets the whole answer while it is still sending, and what it sends is
 * thrown away for at most `LINGER_MS`. Without that the kernel resets the connection and the answer is lost.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Answer } from "../Calls.ts"

const LINGER_MS = 2_000

const linger = (message: IncomingMessage, response: ServerResponse) => {
  const timer = setTimeout(() => response.end(), LINGER_MS)
  const end = () => {
    clearTimeout(timer)
    response.end()
  }
  message.once("end", end).once("close", end).resume()
}

const expectsBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

export const send = (message: IncomingMessage, response: ServerResponse, answer: Answer, traceId: string) => {
  if (response.headersSent || response.destroyed) return
  const { body, contentType, headers, status } = answer
  const head: Record<string, string | number> = { ...headers, "x-trace-id": traceId }
  if (contentType !== null) {
    head["content-type"] = contentType
    head["content-length"] = Buffer.byteLength(body)
  }
  if (!expectsBody(message) || message.complete) {
    response.writeHead(status, head).end(body)
    return
  }
  response.writeHead(status, { ...head, connection: "close" }).write(body)
  linger(message, response)
}
