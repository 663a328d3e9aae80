/**
 * Another workspace at work, in a thread of its own so that whoever attacks does not disturb the measuring: publishes an event
 * every 25 ms, and measures until the answer and until the delivery arrives at its receiver.
 */
import { EventEmitter, once } from "node:events"
import { Agent, createServer, request } from "node:http"
import { parentPort } from "node:worker_threads"

const EVERY_MS = 25
const AT_ONCE = 8

let target
let counter = 0
let publishes = []
let arrivals = []
const underWay = new Map()
const onTheWay = new Map()
const answered = new EventEmitter()
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })

const receiver = createServer((message, response) => {
  let text = ""
  message.on("data", (chunk) => {
    text += chunk
  })
  message.on("end", () => {
    response.end()
    const [, n] = /"n":(\d+)/.exec(text) ?? []
    const began = onTheWay.get(Number(n))
    if (began === undefined) return
    onTheWay.delete(Number(n))
    arrivals.push(performance.now() - began)
  })
})

const publish = () => {
  if (target === undefined || underWay.size >= AT_ONCE) return
  const n = ++counter
  const body = JSON.stringify({ eventType: "neighbour.works", payload: { n } })
  const began = performance.now()
  underWay.set(n, began)
  onTheWay.set(n, began)
  const done = (isRight) => {
    if (!underWay.delete(n)) return
    publishes.push(isRight ? performance.now() - began : 60_000)
    answered.emit("one")
    if (!isRight) onTheWay.delete(n)
  }
  const { headers, url } = target
  const asked = request(url, { agent, method: "POST", headers, timeout: 60_000 }, (answer) => {
    answer.resume()
    answer.on("end", () => done(answer.statusCode === 202))
  })
  asked.on("error", () => done(false))
  asked.end(body)
}

/** What is not there yet took at least until now. */
const soFar = (pending) => [...pending.values()].map((began) => performance.now() - began)

const answers = {
  begin: ({ headers, url }) => {
    target = { headers, url }
  },
  /** Since the last time, once there are so many publishes. */
  tell: async ({ least }) => {
    while (publishes.length < least) await once(answered, "one")
    const told = {
      publishes: [...publishes, ...soFar(underWay)],
      arrivals: [...arrivals, ...soFar(onTheWay)]
    }
    publishes = []
    arrivals = []
    return told
  }
}

receiver.listen(0, "127.0.0.1", () => {
  parentPort.postMessage({ port: receiver.address().port })
  setInterval(publish, EVERY_MS)
})
parentPort.on("message", async ({ what, ...more }) =>
  parentPort.postMessage((await answers[what](more)) ?? {})
)
