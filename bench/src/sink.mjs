/**
 * The receiver of the benchmark: answers every POST with 200 and counts, in a process of its own, as cheaply as Node
 * can (raw sockets, no HTTP parser). `dead` paths are read and never answered. Not a model of HTTP: requests come whole
 * or in order, with a content-length.
 */
import { createServer } from "node:net"

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
const HEAD_END = Buffer.from("\r\n\r\n")
const LENGTH = Buffer.from("content-length: ")
let hits = 0
let times = null
const ids = new Map()

const server = createServer((socket) => {
  socket.setNoDelay(true)
  socket.on("error", () => undefined)
  let rest = null
  socket.on("data", (chunk) => {
    let bytes = rest === null ? chunk : Buffer.concat([rest, chunk])
    let answers = 0
    for (;;) {
      const end = bytes.indexOf(HEAD_END)
      if (end === -1) break
      const at = bytes.indexOf(LENGTH)
      const length = at === -1 || at > end ? 0 : Number.parseInt(bytes.toString("latin1", at + 16, at + 24), 10)
      const total = end + 4 + length
      if (bytes.length < total) break
      if (bytes[6] === 0x64) {
        // POST /dead
      } else {
        answers += 1
        if (times !== null) note(bytes.subarray(0, total))
      }
      bytes = bytes.subarray(total)
    }
    rest = bytes.length === 0 ? null : bytes
    if (answers === 0) return
    hits += answers
    socket.write(answers === 1 ? ANSWER : Buffer.concat(Array(answers).fill(ANSWER)))
  })
})

/** In timing runs: when it came, and which delivery it was. */
const note = (request) => {
  const text = request.toString("latin1")
  const id = /webhook-id: (\S+)/i.exec(text)?.[1]
  const sent = /"sent":(\d+(?:\.\d+)?)/.exec(text)?.[1]
  times.push([id, sent === undefined ? null : performance.timeOrigin + performance.now() - Number(sent), Date.now()])
  ids.set(id, (ids.get(id) ?? 0) + 1)
}

process.on("message", (message) => {
  if (message === "reset") {
    hits = 0
    times = null
    ids.clear()
  } else if (message === "time") times = []
  else if (message === "report") {
    const repeated = [...ids.values()].filter((n) => n > 1).length
    process.send({ hits, times, distinct: ids.size, repeated, cpu: process.cpuUsage() })
    return
  }
  process.send({ hits, cpu: process.cpuUsage() })
})
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }))
