/**
 * Reads HTTP/1.1 requests from a socket, exactly as they were sent: header names in their case and order, body bytes
 * untouched. Bodies need a content-length, which every request of the dispatcher has. Test code: no limits.
 */
import type { Socket } from "node:net"

export interface RawRequest {
  readonly method: string
  /** As in the request line: path and query. */
  readonly target: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Buffer
}

export const readRequests = (socket: Socket, onRequest: (request: RawRequest) => void): void => {
  let pending = Buffer.alloc(0)
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    for (let parsed = parse(pending); parsed !== null; parsed = parse(pending)) {
      pending = pending.subarray(parsed.length)
      onRequest(parsed.request)
    }
  })
}

/** The first header of that name, whatever its case. */
export const headerOf = (request: RawRequest, name: string): string | undefined =>
  request.headers.find(([each]) => each.toLowerCase() === name)?.[1]

const parse = (bytes: Buffer): { readonly request: RawRequest; readonly length: number } | null => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end === -1) return null
  const [line = "", ...fields] = bytes.toString("latin1", 0, end).split("\r\n")
  const [method = "", target = ""] = line.split(" ")
  const headers = fields.map((field) => {
    const colon = field.indexOf(":")
    return [field.slice(0, colon), field.slice(colon + 1).trim()] as const
  })
  const request = { method, target, headers, body: Buffer.alloc(0) }
  const length = end + 4 + Number(headerOf(request, "content-length") ?? 0)
  return bytes.length < length
    ? null
    : { request: { ...request, body: bytes.subarray(end + 4, length) }, length }
}
