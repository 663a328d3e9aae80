/**
 * Sends items that arrive at the same moment in one statement, without a timer: while `STATEMENTS` are under way, items wait.
 *
 * Each workspace has a queue and is in at most one statement, so its items stay in order. A statement takes one item of each
 * queue in turn, at most `MOST` and `MOST_BYTES`, or one larger item.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Exit, Runtime } from "effect"

const STATEMENTS = 2
const MOST = 32
/** 1 MiB takes PostgreSQL 50 ms and more, and whatever shares its statement as long. */
const MOST_BYTES = 131_072

interface Waiting<A, C> {
  readonly item: A
  readonly bytes: number
  readonly resume: (goOn: C) => void
  gone: boolean
}

interface Gathered<A, B, C> {
  readonly lineOf: (item: A) => string
  readonly bytesOf: (item: A) => number
  /** Whether it must not share a statement any more. */
  readonly isApart: (item: A) => boolean
  /** What the caller of an item does that was not sent, because `isApart`. */
  readonly alone: (item: A) => C
  /** What the caller does after the statement. It is asked before anything else is sent. */
  readonly settle: (item: A, outcome: Exit.Exit<B, SqlError>) => C
  /** The caller was interrupted, at any moment until it has done all of that. */
  readonly left: (item: A) => void
}

/** `send` gives an outcome for each item, in order. */
export const makeBatcher = <A, B, C, E>(
  send: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, SqlError>,
  { alone, bytesOf, isApart, left, lineOf, settle }: Gathered<A, B, Effect.Effect<C, E>>
) =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    // Outside of any request: a statement carries items of many callers and outlives each of them.
    const run = Runtime.runFork(runtime)
    type Caller = Waiting<A, Effect.Effect<C, E>>
    const lines = new Map<string, Array<Caller>>()
    const busy = new Set<string>()
    let underWay = 0
    let scheduled = false

    /** Takes one item of each queue in turn; the queues that were served come last the next time. */
    const takeTogether = () => {
      const taken: Array<Caller> = []
      const apart: Array<Caller> = []
      let bytes = 0
      let open = [...lines.keys()].filter((name) => !busy.has(name))
      while (open.length > 0) {
        for (const name of open) {
          const line = lines.get(name)!
          const next = line[0]!
          if (taken.length > 0 && (taken.length >= MOST || bytes + next.bytes > MOST_BYTES))
            return { taken, apart }
          line.shift()
          // A single queue stays in the map: removing and adding it a thousand times a second would make garbage.
          if (line.length === 0 || lines.size > 1) lines.delete(name)
          if (line.length > 0) lines.set(name, line)
          if (next.gone) continue
          if (isApart(next.item)) {
            apart.push(next)
            continue
          }
          bytes += next.bytes
          taken.push(next)
        }
        open = open.filter((name) => lines.has(name))
      }
      return { taken, apart }
    }

    /**
     * One turn of the event loop later, after the next statement has been sent, so that it runs while these callers are
     * answered.
     */
    const tell = (callers: ReadonlyArray<Caller>, goOn: (item: A, index: number) => Effect.Effect<C, E>) => {
      const told = callers.flatMap(({ gone, item, resume }, index) => {
        if (gone) return []
        const next = goOn(item, index)
        return [() => resume(next)]
      })
      setImmediate(() => {
        for (const resume of told) resume()
      })
    }

    const sendTogether = (taken: ReadonlyArray<Caller>) => {
      const names = new Set(taken.map(({ item }) => lineOf(item)))
      for (const name of names) busy.add(name)
      underWay += 1
      run(send(taken.map(({ item }) => item))).addObserver((exit) => {
        underWay -= 1
        for (const name of names) busy.delete(name)
        tell(taken, (item, index) =>
          settle(
            item,
            Exit.map(exit, (outcomes) => outcomes[index]!)
          )
        )
        sendNext()
      })
    }

    const sendNext = () => {
      while (underWay < STATEMENTS) {
        const { apart, taken } = takeTogether()
        if (apart.length > 0) tell(apart, alone)
        if (taken.length === 0) return
        sendTogether(taken)
      }
    }

    /** After everything that has arrived on the sockets by now has been read. */
    const schedule = () => {
      if (scheduled || underWay >= STATEMENTS) return
      scheduled = true
      setImmediate(() => {
        scheduled = false
        sendNext()
      })
    }

    /** Goes on with what `settle` or `alone` say. A caller that is interrupted before its item is sent removes it. */
    return (item: A): Effect.Effect<C, E> =>
      Effect.async((resume) => {
        const waiting: Caller = { item, bytes: bytesOf(item), resume, gone: false }
        const name = lineOf(item)
        const line = lines.get(name)
        if (line === undefined) lines.set(name, [waiting])
        else line.push(waiting)
        schedule()
        return Effect.sync(() => {
          waiting.gone = true
          left(item)
        })
      })
  })
