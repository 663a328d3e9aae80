/**
 * Random calls of the queue, the record, the shards' owners and the rates, to PostgreSQL and to the simulation's model at once.
 * Ids, versions and clocks differ between the two, so they are replaced by numbers of their own before answers are compared.
 */
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { newId } from "@posthorn/domain/Ids"
import type { DueRow, LaneRef, Refill } from "@posthorn/persistence/engine/Queue"
import { Effect } from "effect"
import type { Chance } from "../simulation/VirtualTime.ts"
import { type Database, type EndpointRef, observed } from "./Database.ts"

/** What one of the two databases has made, by the order of making. */
interface Side {
  readonly database: Database
  readonly endpoints: Array<EndpointRef>
  readonly deliveries: Array<string>
  /** Rows that `due` gave at any time. */
  readonly rows: Map<string, DueRow>
  now: number
  /** In all calls of `pass`. */
  passed: number
}

const sideOf = (database: Database): Side => ({
  ...{ database, endpoints: [], deliveries: [], rows: new Map(), now: 0, passed: 0 }
})

const POLICIES: ReadonlyArray<DeliveryPolicy | null> = [
  null,
  { retries: { kind: "none" } },
  { rateLimit: { requests: 3, perSeconds: 100 } }
]

/** One place of a list, the same for both sides. */
type Pick = <A>(list: ReadonlyArray<A>) => A

interface Call {
  /** Chosen once; then both sides are asked. */
  readonly plan: (chance: Chance) => (side: Side, pick: Pick) => Effect.Effect<unknown, unknown>
  readonly needs?: "delivery" | "endpoint" | "row"
}

/** In the order of publishing: PostgreSQL gives its rows in runs. */
const rowsOf = (side: Side, rows: ReadonlyArray<DueRow>) =>
  rows
    .map((row) => ({ row, delivery: side.deliveries.indexOf(row.deliveryId) }))
    .sort((a, b) => a.delivery - b.delivery)
    .map(({ delivery, row }) => {
      side.rows.set(row.deliveryId, row)
      return {
        delivery,
        endpoint: endpointIn(side, [row.endpointId]),
        attempts: row.attempts,
        claims: row.claims,
        atOnce: row.atOnce,
        dueIn: tens(row.due / 1_000 - side.now)
      }
    })

/** In tens of seconds, because statements take some milliseconds. */
const tens = (ms: number) => Math.round((ms + 1_200) / 10_000)

const endpointIn = (side: Side, ids: Iterable<string>) =>
  [...ids].map((id) => side.endpoints.findIndex(({ endpointId }) => endpointId === id)).sort()

const BEGINNING = { due: 0, deliveryId: "" }

export const calls: Readonly<Record<string, Call>> = {
  endpoint: {
    plan: () => {
      // PostgreSQL is asked first, and its shard is the model's.
      let shard = -1
      return (side) =>
        Effect.map(side.database.endpoint(shard), (made) => {
          side.endpoints.push(made)
          shard = made.shard
        })
    }
  },
  publish: {
    needs: "endpoint",
    plan: () => (side, pick) =>
      Effect.map(side.database.publish(pick(side.endpoints)), (id) => {
        if (id !== "none") side.deliveries.push(id)
        return id === "none"
      })
  },
  pass: {
    plan: (chance) => {
      const ms = chance.oneOf([10_000, 30_000, 100_000])
      return (side) => {
        side.passed += ms
        return Effect.asVoid(side.database.pass(ms))
      }
    }
  },
  due: {
    needs: "endpoint",
    plan: (chance) => {
      const [skips, perShard, most] = [chance.happens(0.3), chance.oneOf([2, 100]), chance.oneOf([3, 1_000])]
      return (side, pick) => {
        const shards = [...new Set(side.endpoints.map(({ shard }) => shard))]
        const skip = skips ? [pick(side.endpoints).endpointId] : []
        return Effect.map(
          side.database.queue.due(
            shards.map((shard) => ({ shard, ...BEGINNING }) as never),
            skip,
            perShard,
            most
          ),
          ({ open, rows, stopped }) => ({
            rows: rowsOf(side, rows),
            open: open.length,
            stopped: stopped.length
          })
        )
      }
    }
  },
  firstOfEndpoints: {
    plan: (chance) => {
      const most = chance.oneOf([2, 50])
      return (side) =>
        Effect.iterate(
          { after: null as LaneRef | null, pages: 0, rows: [] as ReadonlyArray<DueRow> },
          {
            while: ({ after, pages }) => pages === 0 || after !== null,
            body: ({ after, pages, rows }) =>
              Effect.map(side.database.queue.firstOfEndpoints(after, most), (found) => ({
                after: found.next,
                pages: pages + 1,
                rows: [...rows, ...found.rows]
              }))
          }
        ).pipe(Effect.map(({ pages, rows }) => ({ pages, rows: rowsOf(side, rows) })))
    }
  },
  nextDue: {
    plan: () => (side) =>
      Effect.map(
        side.database.queue.nextDue([...new Set(side.endpoints.map(({ shard }) => shard))]),
        (due) => due && tens(due / 1_000 - side.now)
      )
  },
  dueOfEndpoints: {
    needs: "endpoint",
    plan: (chance) => {
      const wanted = chance.oneOf([1, 2, 100])
      return (side, pick) =>
        Effect.map(
          side.database.queue.dueOfEndpoints([
            { ...pick(side.endpoints), ...BEGINNING, wanted } as never as Refill
          ]),
          (rows) => rowsOf(side, rows)
        )
    }
  },
  load: {
    needs: "row",
    plan: (chance) => {
      const astray = chance.happens(0.2)
      return (side, pick) => {
        const row = pick([...side.rows.values()])
        const asked = astray ? { ...row, endpointId: pick(side.endpoints).endpointId } : row
        return Effect.map(side.database.queue.load([asked as DueRow]), ([content]) =>
          content === null || content === undefined
            ? null
            : {
                enabled: content.endpoint.enabled,
                generation: content.endpoint.generation,
                own: content.endpoint.policy.own,
                failures: content.failures
              }
        )
      }
    }
  },
  record: {
    needs: "delivery",
    plan: (chance) => {
      const status = chance.oneOf(["delivered", "failed", "failed", "failed_permanent"] as const)
      const waits = status === "failed" && chance.happens(0.7)
      const [ordinal, generation, old] = [1 + chance.below(3), chance.below(2), chance.happens(0.2)]
      const [rateLimited, ago] = [chance.happens(0.5), 10_000 * chance.below(4)]
      const about = {
        status,
        ordinal,
        generation,
        rateLimited,
        attemptId: newId("attempt"),
        waitMs: waits ? chance.oneOf([20_000, 60_000]) : null,
        exhausted: status === "failed" && !waits,
        failureReason: status === "delivered" ? null : chance.oneOf(["http_status", "proxy_failed"] as const),
        disables:
          status === "delivered"
            ? null
            : chance.oneOf([{ kind: "failures", count: 2 }, { kind: "never" }, { kind: "gone" }] as never)
      }
      return (side, pick) =>
        Effect.gen(function* () {
          const id = pick(side.deliveries)
          const endpoint = side.endpoints.find(
            ({ endpointId }) => side.rows.get(id)?.endpointId === endpointId
          )
          if (endpoint === undefined) return "unknown"
          const [policy] = yield* side.database.records.policies([endpoint as never])
          const policyVersion = old ? "7" : (policy?.version ?? "0")
          const at = Math.round(side.now) - ago
          const answer = yield* side.database.records.record(
            [observed(endpoint, id, { ...about, at, policyVersion } as never)],
            "{}"
          )
          const { changed, deadLettered, disabled, recorded, tooLate } = answer
          return {
            ...{ recorded, deadLettered, tooLate, changed: endpointIn(side, changed) },
            disabled: disabled.map(({ endpointId, reason }) => [endpointIn(side, [endpointId]), reason])
          }
        })
    }
  },
  deadLetter: { plan: () => (side) => side.database.records.deadLetter(100) },
  // Of a takeover it matters which rows were committed before it, and `pass` writes rows anew: so all of it is one call.
  claimsAfterTakeover: {
    needs: "delivery",
    plan: (chance) => {
      const [count, before] = [1 + chance.below(3), chance.happens(0.5)]
      return (side, pick) =>
        Effect.gen(function* () {
          const { database } = side
          const endpoint = pick(side.endpoints)
          const again = Effect.map(
            database.publish(endpoint),
            (id) => void (id !== "none" && side.deliveries.push(id))
          )
          yield* database.take(endpoint.shard, "a")
          if (before) yield* again
          yield* database.take(endpoint.shard, "b")
          yield* again
          // A row is due from the millisecond on in which it was published.
          yield* database.pass(0)
          const asked = yield* database.queue.dueOfEndpoints([
            { ...endpoint, ...BEGINNING, wanted: 100 } as never as Refill
          ])
          const outcomes = yield* database.queue.countClaims(
            asked.map((row) => ({ row, count })),
            6,
            true
          )
          const claimed = yield* database.queue.dueOfEndpoints([
            { ...endpoint, ...BEGINNING, wanted: 100 } as never as Refill
          ])
          return [asked.length, [...outcomes.values()], rowsOf(side, claimed)]
        })
    }
  },
  countClaims: {
    needs: "row",
    plan: (chance) => {
      const [count, limit] = [1 + chance.below(3), chance.oneOf([2, 6])]
      return (side, pick) => {
        const row = pick([...side.rows.values()])
        return Effect.map(side.database.queue.countClaims([{ row, count }], limit, false), (outcomes) => [
          ...outcomes.values()
        ])
      }
    }
  },
  startsSince: {
    needs: "endpoint",
    plan: (chance) => {
      const limit = { mostUnrecorded: chance.oneOf([0, 5]), requests: 3, perSeconds: 100 }
      return (side, pick) =>
        Effect.map(side.database.queue.startsSince([{ ...pick(side.endpoints), ...limit } as never]), (all) =>
          all.map(({ agesMs }) => agesMs.map(tens))
        )
    }
  },
  take: ofShard((database, shard, owner) =>
    Effect.map(database.take(shard, owner), (until) => until !== null)
  ),
  release: ofShard((database, shard, owner) => Effect.asVoid(database.release(shard, owner))),
  clearDoubt: ofShard((database, shard, owner) => database.clearDoubt(shard, owner)),
  disable: {
    needs: "endpoint",
    plan: () => (side, pick) => Effect.asVoid(side.database.disable(pick(side.endpoints)))
  },
  enable: {
    needs: "endpoint",
    plan: () => (side, pick) => side.database.enable(pick(side.endpoints))
  },
  repolicy: {
    needs: "endpoint",
    plan: (chance) => {
      const own = chance.oneOf(POLICIES)
      return (side, pick) => Effect.asVoid(side.database.repolicy(pick(side.endpoints), own))
    }
  },
  remove: {
    needs: "endpoint",
    plan: () => (side, pick) => Effect.asVoid(side.database.remove(pick(side.endpoints)))
  }
}

/** Of the shard of one endpoint, by one of two owners. */
function ofShard(act: (database: Database, shard: number, owner: string) => Effect.Effect<unknown>): Call {
  return {
    needs: "endpoint",
    plan: (chance) => {
      const owner = chance.oneOf(["a", "b"])
      return (side, pick) => act(side.database, pick(side.endpoints).shard, owner)
    }
  }
}

const USUAL = [
  "endpoint",
  "publish",
  "publish",
  "due",
  "due",
  "record",
  "record",
  "record",
  "claimsAfterTakeover"
]
const RARE = ["remove"]

/** Gives the first call whose answers differ, after what went before, or null. */
export const firstDifference = (chance: Chance, postgres: Database, model: Database, steps: number) =>
  Effect.gen(function* () {
    const sides = [sideOf(postgres), sideOf(model)] as const
    const told: Array<string> = []
    const names = Object.keys(calls).filter((name) => !RARE.includes(name))
    for (let step = 0; step < steps; step++) {
      const name = chance.happens(0.02) ? chance.oneOf(RARE) : chance.oneOf([...names, ...USUAL])
      const { needs, plan } = calls[name]!
      const [{ deliveries, endpoints, rows }] = sides
      const lacking = { delivery: deliveries.length, endpoint: endpoints.length, row: rows.size }
      if (needs !== undefined && lacking[needs] === 0) continue
      const ask = plan(chance)
      const places = Array.from({ length: 4 }, () => chance.below(1_000_000))
      const answers: Array<unknown> = []
      // The model's clock is PostgreSQL's, which `pass` cannot move.
      sides[0].now = yield* postgres.pass(0)
      sides[1].now = yield* model.pass(sides[0].now + sides[0].passed - (yield* model.pass(0)))
      for (const side of sides) {
        const left = [...places]
        const pick: Pick = (list) => list[left.shift()! % list.length]!
        const answer = (yield* ask(side, pick)) ?? null
        answers.push({ answer, statuses: yield* side.database.statuses(side.deliveries) })
      }
      told.push(name)
      const [ofPostgres, ofModel] = answers.map((answer) => JSON.stringify(answer))
      if (ofPostgres !== ofModel) return { after: told.slice(-12), ofPostgres, ofModel }
    }
    return null
  })
