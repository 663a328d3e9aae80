/**
 * One keep-alive connection that sends one request at a time, on a raw socket: an HTTP client costs as much CPU as the
 * servers that are measured. Answers carry a content-length.
 */
import { connect } from "node:net"
import { eventOf } from "./Publishers.mjs"

const HEAD_END = "\r\n\r\n"

const request = ({ batch, origin, token, workspace = "bench" }, n, { body, eventType }, kinds) => {
  const { host } = new URL(origin)
  const single = `{"eventType":"${eventType}","payload":${body}}`
  const others = Array.from({ length: batch - 1 }, (_, k) => eventOf(n * batch + k, kinds, 0)).map(
    (one) => `{"eventType":"${one.eventType}","payload":${one.body}}`
  )
  const text = batch > 1 ? `{"events":[${[single, ...others].join(",")}]}` : single
  return (
    `POST /workspaces/${workspace}/events${batch > 1 ? "/batch" : ""} HTTP/1.1\r\nhost: ${host}\r\n` +
    `authorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  )
}

const dial = async ({ origin }) => {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject))
  return socket
}

/** A server closes a connection that has been idle for long; then the next request opens another one. */
export const openRequests = async (config) => {
  let socket = null
  let pending = null
  const settle = (error) => {
    const waiting = pending
    pending = null
    if (error) waiting?.reject(error)
    else waiting?.resolve()
  }
  const open = async () => {
    let received = ""
    socket = await dial(config)
    socket.on("error", settle)
    socket.on("close", () => settle(new Error("The server closed the connection")))
    socket.setEncoding("latin1").on("data", (chunk) => {
      received += chunk
      const head = received.indexOf(HEAD_END)
      if (head < 0) return
      const length = Number(/content-length: *(\d+)/i.exec(received.slice(0, head))?.[1])
      if (received.length < head + 4 + length) return
      const answer = received
      received = ""
      settle(answer.startsWith("HTTP/1.1 202") ? undefined : new Error(answer))
    })
  }
  await open()
  return {
    pid: null,
    run: async (n, event) => {
      if (socket.destroyed || socket.readyState !== "open") await open()
      return new Promise((resolve, reject) => {
        pending = { resolve, reject }
        socket.write(request(config, n, event, config.kinds))
      })
    },
    close: async () => {
      socket.removeAllListeners("close")
      socket.destroy()
    }
  }
}
