/**
 * A scripted receiver on loopback: one behaviour per path (MisbehavingReceivers.ts), every request recorded, nothing sanitised.
 *
 * It speaks HTTP over plain sockets, because node:http would repair most of what misbehaving receivers do wrong. Tests await
 * `waitFor` and `waitForConnections`, so that none of them sleeps.
 *
 *   const receiver = yield* Receiver.make()
 *   ... something that posts to receiver.url("/schedule/500-500-200") ...
 *   const [first] = yield* receiver.waitFor(3)
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import { Effect, type Scope } from "effect"
import { type Certificate, certificate } from "./Certificates.ts"
import { type Behaviour, RawAnswer, resetSocket } from "./internal/RawAnswer.ts"
import { type RawRequest, readRequests } from "./internal/RawRequests.ts"
import { behaviourOf } from "./MisbehavingReceivers.ts"

export type { Certificate } from "./Certificates.ts"
export type { Behaviour } from "./internal/RawAnswer.ts"

interface ReceiverOptions {
  /** https with this certificate; http without. */
  readonly tls?: Certificate
  /** What happens to a connection: answered, reset at once, closed at its first byte, or ignored. */
  readonly accept?: "answer" | "reset" | "hang-up" | "stall"
  /** Paths with their own behaviour, which take precedence over MisbehavingReceivers.ts. */
  readonly behaviours?: Readonly<Record<string, Behaviour>>
}

export interface Received extends RawRequest {
  /** Milliseconds since the epoch, when its last byte arrived. */
  readonly at: number
  /** The number of its connection, from 1, in the order in which connections became ready. */
  readonly connection: number
}

export interface Receiver {
  readonly port: number
  /** The URL of `path`; `host` is another name or address of this machine. */
  readonly url: (path: string, host?: string) => string
  /** Everything received so far. */
  readonly received: ReadonlyArray<Received>
  readonly receivedAt: (path: string) => ReadonlyArray<Received>
  /** Waits until `count` requests have arrived, in all or at `path`, and returns them. */
  readonly waitFor: (count: number, path?: string) => Effect.Effect<ReadonlyArray<Received>>
  readonly connections: { readonly opened: number; readonly open: number }
  /** Waits until at most `count` connections are open. */
  readonly waitForConnections: (count: number) => Effect.Effect<void>
}

export const make = (options: ReceiverOptions = {}): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.gen(function* () {
    const records = makeRecords()
    const server = yield* Effect.acquireRelease(listen(serverFor(options, records)), (listening) =>
      Effect.async<void>((resume) => {
        records.closeAll()
        listening.close(() => resume(Effect.void))
      })
    )
    const { port } = server.address() as AddressInfo
    const scheme = options.tls === undefined ? "http" : "https"
    const receivedAt = (path: string) => records.received.filter((each) => pathOf(each) === path)
    return {
      port,
      url: (path, host = "127.0.0.1") => `${scheme}://${host}:${port}${path}`,
      received: records.received,
      receivedAt,
      waitFor: (count, path) =>
        records.until(() => {
          const those = path === undefined ? records.received : receivedAt(path)
          return those.length >= count ? those.slice(0, count) : null
        }),
      connections: records.connections,
      waitForConnections: (count) =>
        Effect.asVoid(records.until(() => (records.connections.open <= count ? records.connections : null)))
    }
  })

const TLS_HANDSHAKE = 0x16

const pathOf = ({ target }: RawRequest): string => target.split("?")[0]!

const listen = (server: Server): Effect.Effect<Server> =>
  Effect.async((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  })

const serverFor = (
  { tls, accept = "answer", behaviours = {} }: ReceiverOptions,
  records: Records
): Server => {
  let connections = 0
  const answer = (socket: Socket) => {
    socket.on("error", () => undefined)
    const connection = ++connections
    let nthOnConnection = 0
    // A client spoke TLS to a plain port: refused as real servers do.
    socket.once("data", (first: Buffer) => {
      if (first[0] === TLS_HANDSHAKE) socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")
    })
    readRequests(socket, (request) => {
      nthOnConnection += 1
      const path = pathOf(request)
      const nth = records.add({ ...request, at: Date.now(), connection }, path)
      const behave = behaviours[path] ?? behaviourOf(path)
      behave(new RawAnswer(request, nth, nthOnConnection, socket))
    })
  }
  const server = tls === undefined || accept !== "answer" ? createServer() : createTlsServer(certificate(tls))
  server.on("connection", (socket: Socket) => records.track(socket))
  // A client that refuses our certificate emits an event here, which needs no handling.
  server.on("tlsClientError", () => undefined)
  if (accept === "reset") server.on("connection", resetSocket)
  else if (accept === "hang-up")
    server.on("connection", (socket: Socket) => socket.once("data", () => socket.end()))
  else if (accept === "stall") server.on("connection", (socket: Socket) => socket.resume())
  else server.on(tls === undefined ? "connection" : "secureConnection", answer)
  return server
}

interface Records {
  readonly received: Array<Received>
  readonly connections: { opened: number; open: number }
  /** Returns how many requests its path has had. */
  readonly add: (request: Received, path: string) => number
  readonly track: (socket: Socket) => void
  readonly until: <A>(condition: () => A | null) => Effect.Effect<A>
  readonly closeAll: () => void
}

const makeRecords = (): Records => {
  const received: Array<Received> = []
  const connections = { opened: 0, open: 0 }
  const counts = new Map<string, number>()
  const sockets = new Set<Socket>()
  const waiting = new Set<() => void>()
  const changed = () => {
    for (const check of [...waiting]) check()
  }
  return {
    received,
    connections,
    add: (request, path) => {
      const nth = (counts.get(path) ?? 0) + 1
      counts.set(path, nth)
      received.push(request)
      changed()
      return nth
    },
    track: (socket) => {
      sockets.add(socket)
      connections.opened += 1
      connections.open += 1
      socket.setNoDelay(true)
      socket.on("error", () => undefined)
      socket.once("close", () => {
        sockets.delete(socket)
        connections.open -= 1
        changed()
      })
    },
    until: (condition) =>
      Effect.async((resume) => {
        const check = () => {
          const found = condition()
          if (found === null) return
          waiting.delete(check)
          resume(Effect.succeed(found))
        }
        waiting.add(check)
        check()
        return Effect.sync(() => waiting.delete(check))
      }),
    closeAll: () => {
      for (const socket of sockets) socket.destroy()
    }
  }
}
