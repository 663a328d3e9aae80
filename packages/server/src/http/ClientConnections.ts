/**
 * Bounds the connections from one address: further ones are closed at once, without affecting other clients. The whole /64 of
 * an IPv6 client counts as one address. Source: spec §7.1.
 */
import type { Server } from "node:http"
import type { Socket } from "node:net"
import { clientKey } from "../gate/RateLimits.ts"

/** `full` is called for each connection that is closed. */
export const boundClients = (server: Server, most: number, full: (client: string) => void) => {
  const open = new Map<string, number>()
  server.prependListener("connection", (socket: Socket) => {
    const client = clientKey(socket.remoteAddress ?? "")
    const count = (open.get(client) ?? 0) + 1
    if (count > most) {
      socket.destroy()
      return full(client)
    }
    open.set(client, count)
    socket.once("close", () => {
      const left = open.get(client)! - 1
      if (left > 0) open.set(client, left)
      else open.delete(client)
    })
  })
}
