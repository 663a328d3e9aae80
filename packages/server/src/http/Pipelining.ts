/**
 * Bounds how many requests of one connection are under way. Without it, 20,000 requests written at once all ran at once.
 *
 * Beyond the bound, the socket is not read until half of them are answered; nothing is refused and the order stays. The last
 * read (64 KiB) is still parsed, so a few hundred small requests can be under way. Node resumes the socket after each message
 * and for each body, so it is paused again each time. This cannot block a body: a request that waits for its body is the last
 * that was read, so the ones before it are answered, and then the socket resumes.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

interface Traffic {
  /** Pending answers, the oldest first. */
  readonly answers: Array<ServerResponse>
  asleep: boolean
}

/**
 * Returns a function that lets each connection end after its pending answers. They are kept in lists by connection: V8 would
 * rebuild one `Set` of them all after every few dozen requests.
 */
export const boundPipelining = (server: Server, atOnce: number): (() => void) => {
  const connections = new Map<Socket, Traffic>()
  const wakeAt = Math.floor(atOnce / 2)
  server.on("connection", (socket) => {
    const traffic: Traffic = { answers: [], asleep: false }
    connections.set(socket, traffic)
    socket.on("resume", () => traffic.asleep && socket.pause())
    socket.on("close", () => connections.delete(socket))
  })
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const traffic = connections.get(socket)
    if (traffic === undefined) return
    const { answers } = traffic
    answers.push(response)
    if (answers.length > atOnce && !traffic.asleep) {
      traffic.asleep = true
      socket.pause()
    }
    response.on("close", () => {
      answers.splice(answers.indexOf(response), 1)
      if (answers.length > wakeAt || !traffic.asleep) return
      traffic.asleep = false
      socket.resume()
    })
  })
  return () => {
    for (const { answers } of connections.values())
      for (const response of answers) response.shouldKeepAlive = false
  }
}
