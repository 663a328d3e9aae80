/**
 * Closes connections whose client does not read its answer: an answer without progress for `stalledMs` is given up, which frees
 * its memory. Source: spec §7.1.
 */
import type { Server } from "node:http"
import type { Socket } from "node:net"

/** A stalled answer is noticed at most 1/`CHECKS` of its time late. */
const CHECKS = 6

interface Progress {
  /** Bytes left to send when that number last changed. */
  left: string
  checks: number
}

/** Bytes of the answer that the kernel has not accepted. Only here does Node tell how much of a chunk has been sent. */
const leftOf = (socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }) =>
  `${socket.bytesWritten} ${socket.writableLength} ${socket._handle?.writeQueueSize}`

export const cutStalledAnswers = (server: Server, stalledMs: number) => {
  const sockets = new Map<Socket, Progress>()
  server.on("connection", (socket: Socket) => {
    sockets.set(socket, { left: "", checks: 0 })
    socket.once("close", () => sockets.delete(socket))
  })
  const check = () => {
    for (const [socket, progress] of sockets) {
      const left = socket.writableLength === 0 ? "" : leftOf(socket)
      progress.checks = left !== "" && left === progress.left ? progress.checks + 1 : 0
      progress.left = left
      if (progress.checks >= CHECKS) socket.destroy()
    }
  }
  const timer = setInterval(check, stalledMs / CHECKS).unref()
  server.once("close", () => clearInterval(timer))
}
