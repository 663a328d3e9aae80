/**
 * Cuts connections whose client does not take its answer: an answer that makes no progress for `stalledMs` is given up,
 * with whatever memory it holds. Source: spec §7.1.
 */
import type { Server } from "node:http"
import type { Socket } from "node:net"

/** How late a stalled answer is noticed, in parts of its time. */
const CHECKS = 6

interface Progress {
  /** What was left to send when it last changed. */
  left: string
  checks: number
}

/** Bytes of the answer that the kernel has not taken. Node tells how much of a chunk has gone only here. */
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
