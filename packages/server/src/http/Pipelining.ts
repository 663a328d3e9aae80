/**
 * Bounds how many requests exist: of one connection, and of all. Without it, one write of 64 KiB made 3,400 requests at once.
 *
 * What a connection sends is given to Node's parser head by head, so a request beyond a bound stays bytes that were not looked at,
 * and nothing more is read from its connection. The first request of a connection is made at once. Pipelined ones, which a client
 * writes before it has its answers, are made so many in each turn of the event loop, connection by connection: whoever pipelines
 * does not come before others. What one connection sends together begins together where there is room. What follows an answer
 * that closes its connection is thrown away. Nothing is refused here, and answers keep their order.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Readable } from "node:stream"

/** Pipelined requests that are made in one turn of the event loop: two connections' most. */
const PER_TURN = 128

interface Traffic {
  readonly socket: Socket
  /** Pending answers, the oldest first. */
  readonly answers: Array<ServerResponse>
  /** What was read and not given to the parser. */
  rest: Buffer
  /** How many bytes from here belong to the body of the last request. */
  body: number
  hasEnded: boolean
  isQueued: boolean
  /** Has as many requests under way as it may have; until half of them are answered. */
  isAsleep: boolean
}

interface PipelineBounds {
  /** Most requests of one connection under way. */
  readonly ofOne: number
  /** Most requests under way. */
  readonly ofAll: number
}

const NOTHING = Buffer.alloc(0)

/** The end of the next head, or of what might be one: heads end with an empty line. */
const endOfHead = (bytes: Buffer) => {
  const strict = bytes.indexOf("\n\r\n")
  const lenient = bytes.indexOf("\n\n")
  const ends = [strict < 0 ? bytes.length : strict + 3, lenient < 0 ? bytes.length : lenient + 2]
  return Math.min(...ends)
}

/** Only here does Node tell that an answer's head says `connection: close`. */
const isClosing = ({ answers }: Traffic) =>
  (answers.at(-1) as { readonly _last?: boolean } | undefined)?._last === true

/**
 * Returns a function that lets each connection end after its pending answers. They are kept in lists by connection: V8 would
 * rebuild one `Set` of them all after every few dozen requests.
 */
export const boundPipelining = (server: Server, { ofAll, ofOne }: PipelineBounds): (() => void) => {
  const connections = new Map<Socket, Traffic>()
  const turns: Array<Traffic> = []
  let underWay = 0
  let made = 0
  let isTurning = false

  const push = ({ socket }: Traffic, bytes: Buffer | null) => Readable.prototype.push.call(socket, bytes)

  /** Gives the parser at most one head, or a part of a body; false when there is nothing to give. */
  const give = (traffic: Traffic): boolean => {
    const { body, rest, socket } = traffic
    if (isClosing(traffic)) traffic.rest = NOTHING
    if (traffic.rest.length === 0 || !socket.writable) return false
    const end = body > 0 ? Math.min(body, rest.length) : endOfHead(rest)
    traffic.body = Math.max(0, body - end)
    traffic.rest = rest.subarray(end)
    push(traffic, rest.subarray(0, end))
    return true
  }

  const isFull = (traffic: Traffic) => {
    const { length } = traffic.answers
    traffic.isAsleep = length >= ofOne || (traffic.isAsleep && length > ofOne / 2)
    return traffic.isAsleep || underWay >= ofAll
  }

  const queue = (traffic: Traffic) => {
    if (traffic.isQueued) return
    traffic.isQueued = true
    turns.push(traffic)
  }

  const turn = () => {
    if (isTurning) return
    isTurning = true
    setImmediate(() => {
      isTurning = false
      made = 0
      while (made < PER_TURN && turns.length > 0 && underWay < ofAll) {
        const traffic = turns.shift()!
        traffic.isQueued = false
        feed(traffic)
      }
    })
  }

  /** Makes what may be made now, and queues for the rest. */
  const feed = (traffic: Traffic) => {
    while (traffic.rest.length > 0 && !traffic.socket.isPaused() && !isFull(traffic)) {
      if (traffic.body === 0 && traffic.answers.length > 0) {
        turn()
        if (made >= PER_TURN) break
        made++
      }
      if (!give(traffic)) break
    }
    if (traffic.rest.length > 0 && !traffic.isAsleep && (made >= PER_TURN || underWay >= ofAll))
      queue(traffic)
    if (traffic.hasEnded && traffic.rest.length === 0) {
      traffic.hasEnded = false
      push(traffic, null)
    }
  }

  server.on("connection", (socket: Socket) => {
    const traffic: Traffic = {
      socket,
      answers: [],
      rest: NOTHING,
      body: 0,
      hasEnded: false,
      isQueued: false,
      isAsleep: false
    }
    connections.set(socket, traffic)
    socket.push = (chunk: Buffer | null) => {
      if (chunk === null) traffic.hasEnded = true
      else traffic.rest = traffic.rest.length === 0 ? chunk : Buffer.concat([traffic.rest, chunk])
      feed(traffic)
      return traffic.rest.length === 0 && !socket.isPaused()
    }
    const read = socket._read.bind(socket)
    socket._read = (size) => {
      if (traffic.rest.length === 0) read(size)
    }
    // With a listener of its own, Node's parser reads what is pushed, and not from the handle.
    socket.on("data", () => undefined)
    socket.on("resume", () => feed(traffic))
    socket.on("close", () => {
      traffic.rest = NOTHING
      connections.delete(socket)
      const answers = traffic.answers.splice(0)
      underWay -= answers.length
      // Node tells only the answer whose turn it was.
      for (const answer of answers) {
        if (answer.socket === socket || answer.destroyed) continue
        answer.destroyed = true
        answer.emit("close")
      }
      turn()
    })
  })
  server.on("request", ({ headers, socket }: IncomingMessage, response: ServerResponse) => {
    const traffic = connections.get(socket)
    if (traffic === undefined) return
    const { answers } = traffic
    traffic.body = Number(headers["content-length"] ?? 0)
    answers.push(response)
    underWay++
    response.on("close", () => {
      const index = answers.indexOf(response)
      if (index < 0) return
      underWay--
      answers.splice(index, 1)
      feed(traffic)
      turn()
    })
  })
  return () => {
    for (const { answers } of connections.values())
      for (const response of answers) response.shouldKeepAlive = false
  }
}
