/**
 * The receiver: accepts every POST in a process of its own, as cheaply as Node can (raw sockets, no HTTP parser). It answers
 * 200 at once, and never under `/hang`. It computes statistics only when it is asked, so that the run is not slowed down.
 *
 * It is no complete HTTP server: requests need a content-length. Signatures are verified by tests, not here.
 */
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { start } from "./Machine.mjs"

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
const HEAD_END = Buffer.from("\r\n\r\n")

/** Answered requests, and when each arrived. */
let requests = []
let target = Number.POSITIVE_INFINITY

const keep = (bytes) => {
  requests.push([bytes, Number(process.hrtime.bigint()) / 1e6])
  if (requests.length === target) process.send({ reached: target })
}

const contentLength = (head) => Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)

const receive = (socket) => {
  socket.setNoDelay(true).on("error", () => undefined)
  let rest = Buffer.alloc(0)
  socket.on("data", (chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let head = bytes.indexOf(HEAD_END); head >= 0; head = bytes.indexOf(HEAD_END)) {
      const end = head + 4 + contentLength(bytes.toString("latin1", 0, head))
      if (bytes.length < end) break
      if (bytes.toString("latin1", 5, 10) !== "/hang") {
        keep(bytes.subarray(0, end))
        socket.write(ANSWER)
      }
      bytes = bytes.subarray(end)
    }
    rest = bytes
  })
}

/**
 * How long each delivery took in ms, from the time in its payload; how many arrived, and how many of them more than once.
 */
const judge = () => {
  const ids = new Set()
  const delays = []
  let last = 0
  for (const [bytes, arrived] of requests) {
    const text = bytes.toString("latin1")
    ids.add(/webhook-id: ([^\r]+)/i.exec(text)?.[1])
    delays.push(arrived - Number(/"sent":(\d+(?:\.\d+)?)/.exec(text)?.[1]))
    last = Math.max(last, arrived)
  }
  return { delays, last, count: delays.length, repeated: delays.length - ids.size }
}

const answers = {
  reset: () => {
    requests = []
    target = Number.POSITIVE_INFINITY
  },
  expect: ({ count }) => {
    target = count
    if (requests.length >= count) process.send({ reached: count })
  },
  report: judge
}

const listen = () => {
  process.on("message", (message) => {
    process.send({ answer: answers[message.ask](message) ?? null })
  })
  process.on("disconnect", () => process.exit(0))
  const server = createServer(receive)
  server.listen(0, "127.0.0.1", 4096, () => process.send({ port: server.address().port }))
}

const file = fileURLToPath(import.meta.url)

/** The run's handle on the receiver's process. */
export const startSink = async () => {
  const { child, stop } = start([file], {}, { stdio: ["ignore", "ignore", "inherit", "ipc"] })
  const next = (wants) =>
    new Promise((resolve) => {
      const look = (message) => {
        if (!wants(message)) return
        child.off("message", look)
        resolve(message)
      }
      child.on("message", look)
    })
  const ask = async (message) => {
    const answer = next((one) => "answer" in one)
    child.send(message)
    return (await answer).answer
  }
  const { port } = await next((one) => "port" in one)
  return {
    origin: `http://127.0.0.1:${port}`,
    reset: () => ask({ ask: "reset" }),
    report: () => ask({ ask: "report" }),
    /** Resolves once this many requests have come since the reset. */
    reached: async (count) => {
      const arrived = next((one) => one.reached === count)
      await ask({ ask: "expect", count })
      await arrived
    },
    stop
  }
}

if (process.argv[1] === file) listen()
