/**
 * What arrives within the same moment goes to the database together.
 *
 * No timer: while `STATEMENTS` are on their way, what arrives waits, and the next one takes it along; what arrives alone
 * goes at once. One line for each workspace: it is in one statement at a time at most, so what it sent stays in order, and
 * what is slow for it holds up nobody who comes after; a statement takes one of each line in turn, so nobody's thousand
 * stand before another's one. Bounded by `MOST` items and `MOST_BYTES`, or one item that is larger.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { type Cause, Data, Effect, Exit, Runtime } from "effect"

const STATEMENTS = 2
const MOST = 32
const MOST_BYTES = 1_048_576

interface Waiting<A, B> {
  readonly item: A
  readonly bytes: number
  readonly resume: (outcome: Exit.Exit<B, SqlError | SetApart>) => void
  gone: boolean
}

interface Gathered<A> {
  readonly lineOf: (item: A) => string
  readonly bytesOf: (item: A) => number
  /** Whether it may not be sent together with others any more: then it is given back, as `SetApart`. */
  readonly isApart: (item: A) => boolean
  readonly refused: (items: ReadonlyArray<A>, error: Cause.Cause<SqlError>) => void
}

/** Not sent: what came before it on its way is made again by itself. */
export class SetApart extends Data.TaggedError("SetApart") {}

/** `send` gives an outcome for each item, in their order; where it fails, `refused` is told before anything else is sent. */
export const makeBatcher = <A, B>(
  send: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, SqlError>,
  { bytesOf, isApart, lineOf, refused }: Gathered<A>
) =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    // Of no request: what is sent is many callers' and outlives each of them.
    const run = Runtime.runFork(runtime)
    const lines = new Map<string, Array<Waiting<A, B>>>()
    const busy = new Set<string>()
    let underWay = 0
    let scheduled = false

    /** One of each line in turn; the lines that were served come last the next time. */
    const takeTogether = () => {
      const taken: Array<Waiting<A, B>> = []
      const apart: Array<Waiting<A, B>> = []
      let bytes = 0
      let open = [...lines.keys()].filter((name) => !busy.has(name))
      while (open.length > 0) {
        for (const name of open) {
          const line = lines.get(name)!
          const next = line[0]!
          if (taken.length > 0 && (taken.length >= MOST || bytes + next.bytes > MOST_BYTES))
            return { taken, apart }
          line.shift()
          // The only line stays where it is: what is put in and taken out of a map a thousand times a second makes garbage.
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

    /** A turn later, when what is sent next has left: it is under way while these are answered. */
    const tell = (
      taken: ReadonlyArray<Waiting<A, B>>,
      exit: Exit.Exit<ReadonlyArray<B>, SqlError | SetApart>
    ) =>
      setImmediate(() => {
        for (const [place, { resume }] of taken.entries())
          resume(Exit.map(exit, (outcomes) => outcomes[place]!))
      })

    const sendTogether = (taken: ReadonlyArray<Waiting<A, B>>) => {
      const names = new Set(taken.map(({ item }) => lineOf(item)))
      for (const name of names) busy.add(name)
      underWay += 1
      run(send(taken.map(({ item }) => item))).addObserver((exit) => {
        underWay -= 1
        for (const name of names) busy.delete(name)
        if (Exit.isFailure(exit))
          refused(
            taken.map(({ item }) => item),
            exit.cause
          )
        tell(taken, exit)
        sendNext()
      })
    }

    const sendNext = () => {
      while (underWay < STATEMENTS) {
        const { apart, taken } = takeTogether()
        if (apart.length > 0) tell(apart, Exit.fail(new SetApart()))
        if (taken.length === 0) return
        sendTogether(taken)
      }
    }

    /** Once all that has arrived on the sockets by now has been read. */
    const schedule = () => {
      if (scheduled || underWay >= STATEMENTS) return
      scheduled = true
      setImmediate(() => {
        scheduled = false
        sendNext()
      })
    }

    /** The item's own outcome. Whoever is interrupted before it is sent takes it away again. */
    return (item: A): Effect.Effect<B, SqlError | SetApart> =>
      Effect.async((resume) => {
        const waiting: Waiting<A, B> = { item, bytes: bytesOf(item), resume, gone: false }
        const name = lineOf(item)
        const line = lines.get(name)
        if (line === undefined) lines.set(name, [waiting])
        else line.push(waiting)
        schedule()
        return Effect.sync(() => {
          waiting.gone = true
        })
      })
  })
