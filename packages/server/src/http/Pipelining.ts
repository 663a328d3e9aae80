/**
 * Bounds how many requests exist: of one connection, and of all. Without it, one write of 64 KiB made 3,400 requests at once.
 *
 * What a connection sends is given to Node's parser head by head, so a request beyond a bound stays bytes that were not looked at,
 * and nothing more is read from its connection. The first request of a connection is made at once. Those that a client writes
 * before it has their answers have their turn connection by connection, a few in each turn of the event loop, so whoever
 * pipelines does not come before others. What follows an answer that closes its connection is thrown away. Nothing is refused
 * here, and answers keep their order.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Readable } from "node:stream"

/** Pipelined requests that are made in one turn of the event loop. */
const PER_TURN = 16

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
}

export interface PipelineBounds {
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

const isClosing = ({ answers }: Traffic) => {
  const last = answers.at(-1)
  return last?.headersSent === true && !last.shouldKeepAlive
}

/**
 * Returns a function that lets each connection end after its pending answers. They are kept in lists by connection: V8 would
 * rebuild one `Set` of them all after every few dozen requests.
 */
export const boundPipelining = (server: Server, { ofAll, ofOne }: PipelineBounds): (() => void) => {
  const connections = new Map<Socket, Traffic>()
  const turns: Array<Traffic> = []
  let underWay = 0
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

  const isFull = ({ answers }: Traffic) => answers.length >= ofOne || underWay >= ofAll

  const queue = (traffic: Traffic) => {
    if (traffic.isQueued) return
    traffic.isQueued = true
    turns.push(traffic)
    turn()
  }

  const turn = () => {
    if (isTurning || underWay >= ofAll || turns.length === 0) return
    isTurning = true
    setImmediate(() => {
      for (let made = 0; made < PER_TURN && turns.length > 0 && underWay < ofAll; made++) {
        const traffic = turns.shift()!
        traffic.isQueued = false
        feed(traffic, true)
      }
      isTurning = false
      turn()
    })
  }

  /** Makes what may be made now, and queues for the rest. */
  const feed = (traffic: Traffic, hasTurn = false) => {
    let mayMake = hasTurn
    while (!traffic.socket.isPaused() && !isFull(traffic)) {
      const isNew = traffic.body === 0 && traffic.answers.length > 0
      if (isNew && !mayMake && traffic.rest.length > 0) return queue(traffic)
      if (isNew) mayMake = false
      if (!give(traffic)) break
    }
    if (traffic.rest.length > 0 && underWay >= ofAll) queue(traffic)
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
      isQueued: false
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
      underWay--
      answers.splice(answers.indexOf(response), 1)
      feed(traffic)
      turn()
    })
  })
  return () => {
    for (const { answers } of connections.values())
      for (const response of answers) response.shouldKeepAlive = false
  }
}
