/**
 * The receiver of a long run: answers every POST with 200, at once or after a time that is the same for all and can be
 * changed while it runs. It keeps of each request only the event's number and when it came, until they are taken, so its
 * memory does not grow with the run. One request in a hundred has its signature verified. Raw sockets, no HTTP parser.
 */
import { createHmac } from "node:crypto"
import { createServer } from "node:net"
import { now } from "../Machine.mjs"
import { answering } from "./Child.mjs"

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
const HEAD_END = Buffer.from("\r\n\r\n")
const NUMBER = Buffer.from('"n":')
const LENGTH = /content-length: (\d+)/i
const CHECKED_EVERY = 100

let key = null
let slowMs = 0
let total = 0
let bad = 0
/** Number and moment of each request since they were last taken. */
let arrivals = []

const numberAfter = (bytes, at) => {
  let n = 0
  for (let i = at; bytes[i] >= 48 && bytes[i] <= 57; i++) n = n * 10 + bytes[i] - 48
  return n
}

const field = (head, name) => new RegExp(`\r\n${name}: ([^\r]+)`, "i").exec(head)?.[1]

const signedRightly = (head, body) => {
  const signed = createHmac("sha256", key)
    .update(`${field(head, "webhook-id")}.${field(head, "webhook-timestamp")}.`)
    .update(body)
  return field(head, "webhook-signature") === `v1,${signed.digest("base64")}`
}

const answer = (socket) => {
  if (slowMs === 0) socket.write(ANSWER)
  else setTimeout(() => socket.destroyed || socket.write(ANSWER), slowMs)
}

const take = (socket, bytes) => {
  let at = 0
  for (;;) {
    const split = bytes.indexOf(HEAD_END, at)
    if (split === -1) return at
    const head = bytes.toString("latin1", at, split + 2)
    const begins = split + HEAD_END.length
    const end = begins + Number(LENGTH.exec(head)?.[1] ?? 0)
    if (bytes.length < end) return at
    arrivals.push(numberAfter(bytes, bytes.indexOf(NUMBER, begins) + NUMBER.length), now())
    total += 1
    if (total % CHECKED_EVERY === 0 && !signedRightly(head, bytes.subarray(begins, end))) bad += 1
    answer(socket)
    at = end
  }
}

const server = createServer((socket) => {
  socket.setNoDelay(true)
  socket.on("error", () => undefined)
  let rest = null
  socket.on("data", (chunk) => {
    const bytes = rest === null ? chunk : Buffer.concat([rest, chunk])
    const at = take(socket, bytes)
    rest = at === bytes.length ? null : bytes.subarray(at)
  })
})

answering({
  open: (config) => {
    key = Buffer.from(config.key, "base64")
    return new Promise((resolve) =>
      server.listen(0, "127.0.0.1", 4096, () => resolve({ port: server.address().port }))
    )
  },
  slow: ({ ms }) => {
    slowMs = ms
  },
  take: () => {
    const taken = Float64Array.from(arrivals)
    arrivals = []
    return { arrivals: taken, bad }
  }
})
