/** What a behaviour gets: the request, and the socket on which to answer it, well or badly. */
import type { Socket } from "node:net"
import type { RawRequest } from "./RawRequests.ts"

export type Behaviour = (answer: RawAnswer) => void

export class RawAnswer {
  readonly request: RawRequest
  /** How many requests this path has had, this one included. */
  readonly nth: number
  /** How many requests this connection has carried, this one included. */
  readonly nthOnConnection: number
  private readonly socket: Socket

  constructor(request: RawRequest, nth: number, nthOnConnection: number, socket: Socket) {
    this.request = request
    this.nth = nth
    this.nthOnConnection = nthOnConnection
    this.socket = socket
  }

  /** Writes exactly these bytes. */
  raw(bytes: string | Buffer): this {
    if (!this.socket.destroyed)
      this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes)
    return this
  }

  /** A correct answer, after which the connection stays open. */
  reply(status: number, body: string | Buffer = "", headers: Readonly<Record<string, string>> = {}): this {
    const bytes = Buffer.from(body)
    const bodyless = status === 204 || status === 304
    const fields = Object.entries(bodyless ? headers : { ...headers, "content-length": String(bytes.length) })
    const head = [`HTTP/1.1 ${status} Answer`, ...fields.map(([name, value]) => `${name}: ${value}`)]
    return this.raw(
      Buffer.concat([
        Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"),
        bodyless ? Buffer.alloc(0) : bytes
      ])
    )
  }

  /** Runs it when the connection is closed, by whichever side; what it gives takes that back. */
  gone(run: () => void): () => void {
    this.socket.once("close", run)
    return () => void this.socket.off("close", run)
  }

  /** Ends the connection in order (FIN). */
  close(): void {
    this.socket.end()
  }

  /**
   * Ends the connection with a reset, after the written bytes have been read: libuv reports a reset that is found together with
   * unread bytes as an orderly end. A reader in this process reads before the immediate, even after a stall.
   */
  reset(): void {
    setTimeout(() => setImmediate(resetSocket, this.socket), 20)
  }

  /** Writes `chunk` again and again, as fast as the other side reads, until it goes away. */
  flood(chunk: string | Buffer): void {
    const bytes = Buffer.from(chunk)
    const more = () => {
      while (!this.socket.destroyed && this.socket.write(bytes)) {
        // until the buffers are full
      }
    }
    this.socket.on("drain", more)
    more()
  }

  /** Writes `chunk` every `ms`, until the other side goes away. */
  drip(ms: number, chunk: string): void {
    const timer = setInterval(() => this.raw(chunk), ms)
    this.socket.once("close", () => clearInterval(timer))
  }
}

/** A TLS socket cannot send a reset: it just closes without a close_notify. */
export const resetSocket = (socket: Socket): void => {
  if ("encrypted" in socket) socket.destroy()
  else socket.resetAndDestroy()
}
