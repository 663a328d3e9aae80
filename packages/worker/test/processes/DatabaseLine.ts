/**
 * A proxy between a worker and its database, with every fault that a connection can have.
 *
 * It reads only bytes: to lose an answer, it waits for a statement with a given text, and drops the database's answer to it.
 */
import { connect, createServer, type Server, type Socket } from "node:net"
import { Deferred, Effect, type Scope } from "effect"

export interface DatabaseLine {
  readonly port: number
  /** From now on nothing passes in either direction, without an error. New connections hang as well. */
  readonly goBlack: Effect.Effect<void>
  /** Releases what was held, in order. */
  readonly lightUp: Effect.Effect<void>
  /** As after a change of host: existing connections stay silent for ever, new ones work. */
  readonly forget: Effect.Effect<void>
  /** Cuts the connection that sends `text` next, after the database has answered and before the worker receives it. */
  readonly loseAnswerTo: (text: string) => Effect.Effect<void>
  /** From now on everything takes this many milliseconds more, in each direction. */
  readonly slowDown: (milliseconds: number) => Effect.Effect<void>
  /** From now on the database's answers come with so many bytes a second, on each connection. */
  readonly narrow: (bytesPerSecond: number) => Effect.Effect<void>
  readonly connections: () => number
  /** Cuts every connection; new ones work. */
  readonly cut: Effect.Effect<void>
}

interface Pair {
  readonly worker: Socket
  readonly database: Socket
  black: boolean
  swallow: Deferred.Deferred<void> | null
  /** When all answers so far have passed, in milliseconds. */
  passedAt: number
}

/** Timers of equal length run in the order in which they were set, so delayed data keeps its order. */
const send = (socket: Socket, chunk: Buffer, delay: number) => {
  if (delay === 0) socket.write(chunk)
  else setTimeout(() => socket.writable && socket.write(chunk), delay)
}

interface Pace {
  delay: number
  bytesPerSecond: number
}

const delayOf = (pair: Pair, { length }: Buffer, { bytesPerSecond, delay }: Pace): number => {
  const now = performance.now()
  pair.passedAt = Math.max(now, pair.passedAt) + (length / bytesPerSecond) * 1_000
  return delay + pair.passedAt - now
}

const link = (pair: Pair, onStatement: (chunk: Buffer, pair: Pair) => void, pace: Pace) => {
  pair.worker.on("data", (chunk: Buffer) => {
    onStatement(chunk, pair)
    send(pair.database, chunk, pace.delay)
  })
  pair.database.on("data", (chunk: Buffer) => {
    if (pair.swallow === null) {
      send(pair.worker, chunk, delayOf(pair, chunk, pace))
      return
    }
    Deferred.unsafeDone(pair.swallow, Effect.void)
    pair.worker.destroy()
    pair.database.destroy()
  })
}

const setBlack = (pair: Pair, black: boolean) => {
  pair.black = black
  for (const socket of [pair.worker, pair.database]) black ? socket.pause() : socket.resume()
}

export const makeLine = (target: URL): Effect.Effect<DatabaseLine, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pairs = new Set<Pair>()
    let black = false
    const pace: Pace = { delay: 0, bytesPerSecond: Number.POSITIVE_INFINITY }
    let awaited: { readonly text: string; readonly lost: Deferred.Deferred<void> } | null = null
    const onStatement = (chunk: Buffer, pair: Pair) => {
      if (awaited === null || !chunk.includes(awaited.text)) return
      pair.swallow = awaited.lost
      awaited = null
    }
    const server = createServer((worker) => {
      const database = connect(Number(target.port), target.hostname)
      const pair: Pair = { worker, database, black: false, swallow: null, passedAt: 0 }
      pairs.add(pair)
      const end = () => {
        pairs.delete(pair)
        worker.destroy()
        database.destroy()
      }
      // A silent connection carries no end of stream either; both ends notice when it works again, or when the test ends.
      for (const socket of [worker, database]) socket.on("error", () => undefined).once("close", end)
      link(pair, onStatement, pace)
      if (black) setBlack(pair, true)
    })
    yield* Effect.acquireRelease(listen(server), () =>
      Effect.async<void>((resume) => {
        for (const { worker } of pairs) worker.destroy()
        server.close(() => resume(Effect.void))
      })
    )
    const turn = (to: boolean) =>
      Effect.sync(() => {
        black = to
        for (const pair of pairs) setBlack(pair, to)
      })
    return {
      port: (server.address() as { port: number }).port,
      goBlack: turn(true),
      lightUp: turn(false),
      forget: Effect.sync(() => {
        black = false
        for (const pair of pairs) setBlack(pair, true)
      }),
      loseAnswerTo: (text) =>
        Effect.flatMap(Deferred.make<void>(), (lost) => {
          awaited = { text, lost }
          return Deferred.await(lost)
        }),
      slowDown: (milliseconds) =>
        Effect.sync(() => {
          pace.delay = milliseconds
        }),
      narrow: (bytesPerSecond) =>
        Effect.sync(() => {
          pace.bytesPerSecond = bytesPerSecond
        }),
      connections: () => pairs.size,
      cut: Effect.sync(() => {
        for (const { database, worker } of pairs) {
          worker.destroy()
          database.destroy()
        }
      })
    }
  })

const listen = (server: Server): Effect.Effect<void> =>
  Effect.async((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.void))
  })

/** The URL of the same database, through the proxy. */
export const through = (line: DatabaseLine, url: string): string => {
  const other = new URL(url)
  other.hostname = "127.0.0.1"
  other.port = String(line.port)
  return other.href
}
