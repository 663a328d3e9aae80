/**
 * Requests from a given number of connections, on raw sockets: an HTTP client would cost as much CPU as the measured
 * servers.
 */
import { connect } from "node:net"
import { now, quantile, sleep } from "./Machine.mjs"

const HEAD_END = "\r\n\r\n"

/** A keep-alive connection that sends one request at a time. Answers carry a content-length. */
const open = ({ origin, token }) => {
  const { host, hostname, port } = new URL(origin)
  const head = `HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n`
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  let received = ""
  let pending
  socket.on("error", (error) => pending?.reject(error))
  socket.on("close", () => pending?.reject(new Error("the server closed the connection")))
  socket.setEncoding("latin1").on("data", (chunk) => {
    received += chunk
    const end = received.indexOf(HEAD_END)
    if (end < 0) return
    const length = Number(/content-length: *(\d+)/i.exec(received.slice(0, end))?.[1])
    if (received.length < end + 4 + length) return
    const answer = received
    received = ""
    if (/^HTTP\/1.1 2/.test(answer)) pending.resolve()
    else pending.reject(new Error(answer))
  })
  const send = (method, path, body) =>
    new Promise((resolve, reject) => {
      pending = { resolve, reject }
      const given =
        body === undefined
          ? ""
          : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
      socket.write(`${method} ${path} ${head}${given}\r\n${body ?? ""}`)
    })
  return { send, isOpen: () => !socket.destroyed, close: () => socket.destroy() }
}

/** An event of about 300 bytes. `sent` tells the receiver when it was published. */
const PAD = "x".repeat(250)
export const payload = (n) => `{"sent":${now().toFixed(3)},"n":${n},"pad":"${PAD}"}`
export const eventType = (n) => `bench.e${n % 50}`

export const publishes = (target) => (connection, n) =>
  connection.send(
    "POST",
    `/workspaces/bench/events`,
    `{"eventType":"${target.eventType ?? eventType(n)}","payload":${payload(n)}}`
  )

const told = (times, took) => ({
  count: times.length,
  rate: times.length / took,
  p50: quantile(times, 0.5),
  p99: quantile(times, 0.99)
})

const timed = async (one, times) => {
  const began = now()
  await one()
  times.push(now() - began)
}

/** Sends as fast as answers come, for a number of seconds or requests. `one(connection, n)` sends a request. */
export const drive = async (
  target,
  one,
  connections,
  { seconds = 3600, count = Number.POSITIVE_INFINITY }
) => {
  const times = []
  const began = now()
  let n = 0
  const loop = async () => {
    const connection = open(target)
    while (now() < began + seconds * 1000 && n < count) {
      const mine = n++
      await timed(() => one(connection, mine), times)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: connections }, loop))
  return told(times, (now() - began) / 1000)
}

/** Sends a fixed number of requests a second, however long an answer takes. */
export const pace = async (target, one, rate, seconds) => {
  const idle = []
  /** The server closes connections that were idle for long. */
  const take = () => {
    const connection = idle.pop()
    return connection === undefined || connection.isOpen() ? (connection ?? open(target)) : take()
  }
  const times = []
  const calls = []
  const began = now()
  for (let n = 0; n < rate * seconds; n++) {
    const wait = began + (n * 1000) / rate - now()
    if (wait > 0.3) await sleep(wait)
    const connection = take()
    calls.push(timed(() => one(connection, n), times).then(() => idle.push(connection)))
  }
  await Promise.all(calls)
  const took = (now() - began) / 1000
  for (const connection of idle) connection.close()
  return told(times, took)
}
