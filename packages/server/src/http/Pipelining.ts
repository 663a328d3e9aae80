/**
 * Bounds how many requests of one connection are under way: without it 20,000 that were written at once all ran at once.
 *
 * Beyond the bound the socket is read no further until half of them are answered; nothing is refused and order stays.
 * What one read has brought (64 KiB) is still parsed, so a few hundred small ones can be under way. Node wakes the
 * socket after each message and for each body, so it is put back to sleep each time. A body that is waited for is the
 * last of what was read: those before it are answered, and then the socket wakes.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

interface Traffic {
  /** Still to come, the oldest first. */
  readonly answers: Array<ServerResponse>
  asleep: boolean
}

/**
 * Gives what makes each connection end with the answers that are under way. They are in lists by connection: one `Set` of them
 * all is built anew, by V8, after each few dozen requests.
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
