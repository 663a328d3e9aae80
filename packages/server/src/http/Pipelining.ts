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
  underWay: number
  asleep: boolean
}

/** Gives the answers that are still to come, of all connections. */
export const boundPipelining = (server: Server, atOnce: number): ReadonlySet<ServerResponse> => {
  const open = new Set<ServerResponse>()
  const connections = new WeakMap<Socket, Traffic>()
  const wakeAt = Math.floor(atOnce / 2)
  server.on("connection", (socket) => {
    const traffic = { underWay: 0, asleep: false }
    connections.set(socket, traffic)
    socket.on("resume", () => traffic.asleep && socket.pause())
  })
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const traffic = connections.get(socket)!
    open.add(response)
    traffic.underWay += 1
    if (traffic.underWay > atOnce && !traffic.asleep) {
      traffic.asleep = true
      socket.pause()
    }
    response.on("close", () => {
      open.delete(response)
      traffic.underWay -= 1
      if (traffic.underWay > wakeAt || !traffic.asleep) return
      traffic.asleep = false
      socket.resume()
    })
  })
  return open
}
