/**
 * The receiver: answers every POST with 200 in a process of its own, as cheaply as Node can (raw sockets, no HTTP
 * parser), and keeps every request. What it received is judged afterwards, so that judging costs the run nothing: which
 * deliveries came, which came again, which signatures are wrong, how long each had been under way.
 *
 * Paths: `/ok/…` is answered at once, `/dead` never, `/slow/<ms>` late. Not a model of HTTP: requests carry a
 * content-length and are not pipelined beyond what the socket brings.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { createServer } from "node:net"

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
const HEAD_END = Buffer.from("\r\n\r\n")
const LENGTH = Buffer.from("ontent-length: ")
const LENGTH_CAPITAL = Buffer.from("ontent-Length: ")
const ARENA = 1 << 24

let arenas = [Buffer.allocUnsafe(ARENA)]
let used = 0
/** Arena, offset, length and arrival of each request. */
let requests = []
let target = Number.POSITIVE_INFINITY

const keep = (bytes, at, end) => {
  const length = end - at
  if (used + length > ARENA) {
    arenas.push(Buffer.allocUnsafe(ARENA))
    used = 0
  }
  bytes.copy(arenas[arenas.length - 1], used, at, end)
  requests.push(arenas.length - 1, used, length, Number(process.hrtime.bigint()) / 1e6)
  used += length
  if (requests.length / 4 === target) process.send({ reached: target })
}

const lengthOf = (bytes, at, end) => {
  let found = bytes.indexOf(LENGTH, at)
  if (found === -1 || found > end) found = bytes.indexOf(LENGTH_CAPITAL, at)
  if (found === -1 || found > end) return 0
  let length = 0
  for (let i = found + 15; bytes[i] >= 48 && bytes[i] <= 57; i++) length = length * 10 + bytes[i] - 48
  return length
}

const server = createServer((socket) => {
  socket.setNoDelay(true)
  socket.on("error", () => undefined)
  let rest = null
  socket.on("data", (chunk) => {
    const bytes = rest === null ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    for (;;) {
      const head = bytes.indexOf(HEAD_END, at)
      if (head === -1) break
      const end = head + 4 + lengthOf(bytes, at, head)
      if (bytes.length < end) break
      keep(bytes, at, end)
      const kind = bytes[at + 6]
      if (kind === 0x73) {
        const ms = Number.parseInt(bytes.toString("latin1", at + 11, at + 18), 10)
        setTimeout(() => socket.write(ANSWER), ms)
      } else if (kind !== 0x64) socket.write(ANSWER)
      at = end
    }
    rest = at === bytes.length ? null : at === 0 ? bytes : bytes.subarray(at)
  })
})

const field = (head, name) => new RegExp(`\r\n${name}: ([^\r]+)`, "i").exec(head)?.[1]

const judge = (key) => {
  const times = new Map()
  const hits = []
  let bad = 0
  for (let i = 0; i < requests.length; i += 4) {
    const bytes = arenas[requests[i]].subarray(requests[i + 1], requests[i + 1] + requests[i + 2])
    const split = bytes.indexOf(HEAD_END)
    const head = bytes.toString("latin1", 0, split)
    const body = bytes.subarray(split + 4)
    const id = field(head, "webhook-id")
    const expected = createHmac("sha256", key)
      .update(`${id}.${field(head, "webhook-timestamp")}.`)
      .update(body)
    const given = Buffer.from(field(head, "webhook-signature")?.split(",")[1] ?? "", "base64")
    const digest = expected.digest()
    if (given.length !== digest.length || !timingSafeEqual(given, digest)) bad += 1
    times.set(id, (times.get(id) ?? 0) + 1)
    const sent = /"sent":(\d+(?:\.\d+)?)/.exec(body.toString("latin1", 0, 300))?.[1]
    const path = head.slice(5, head.indexOf(" ", 5))
    hits.push([path, requests[i + 3], sent === undefined ? null : Number(sent), id])
  }
  return { hits, bad, distinct: times.size, repeated: [...times.values()].filter((n) => n > 1).length }
}

const reset = () => {
  arenas = [Buffer.allocUnsafe(ARENA)]
  used = 0
  requests = []
  target = Number.POSITIVE_INFINITY
}

process.on("message", ({ ask, count, key, withHits }) => {
  if (ask === "reset") reset()
  else if (ask === "expect") {
    target = count
    if (requests.length / 4 >= target) process.send({ reached: target })
  } else if (ask === "count") return process.send({ count: requests.length / 4 })
  else if (ask === "report") {
    const { hits, ...rest } = judge(Buffer.from(key, "base64"))
    return process.send({ report: { ...rest, total: hits.length, hits: withHits ? hits : [] } })
  }
  process.send({ done: ask })
})
process.on("disconnect", () => process.exit(0))
server.listen(0, "127.0.0.1", 4096, () => process.send({ port: server.address().port }))
