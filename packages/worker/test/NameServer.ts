/** A DNS server on loopback: it answers for its names, says that others do not exist, and never answers for `dead`. */
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { Effect } from "effect"

export interface Records {
  readonly [name: string]: { readonly address: string; readonly ttl: number }
}

export const nameServer = (records: Records) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<string> = []
      const socket = createSocket("udp4")
      socket.on("message", (query, { address, port }) => {
        const labels: Array<string> = []
        let at = 12
        while (query[at] !== 0) {
          labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!))
          at += query[at]! + 1
        }
        const name = labels.join(".")
        asked.push(name)
        if (labels.includes("dead")) return
        const isIpv4 = query.readUInt16BE(at + 1) === 1
        const record = records[name]
        const found = record !== undefined && isIpv4
        // Its id; an answer with recursion, or NXDOMAIN; one question, and at most one answer.
        const head = Buffer.from([
          query[0]!,
          query[1]!,
          0x81,
          record === undefined ? 0x83 : 0x80,
          0,
          1,
          0,
          0,
          0,
          0,
          0,
          0
        ])
        if (found) head[7] = 1
        const answer = [head, query.subarray(12, at + 5)]
        if (found) {
          const fixed = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4])
          fixed.writeUInt32BE(record.ttl, 6)
          answer.push(fixed, Buffer.from(record.address.split(".").map(Number)))
        }
        socket.send(Buffer.concat(answer), port, address)
      })
      socket.bind(0, "127.0.0.1")
      await once(socket, "listening")
      return { asked, socket, server: `127.0.0.1:${socket.address().port}` }
    }),
    ({ socket }) => Effect.sync(() => socket.close())
  )
