/** A long outage and its recovery by people, on real processes, some of which are killed meanwhile (slow: 1,000 events). */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver, type Received } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
import { Setting } from "../Setting.ts"
import { COMPRESSED, killWorker, requestsByDelivery, suffer } from "./Outage.ts"
import { serveAt, workspaceAt } from "./ServeProcess.ts"
import { lawsHold, tally, within } from "./Story.ts"

const DEAD_LETTERED = 40
const MISSED = 960
const JOB = DEAD_LETTERED + MISSED

/** Refuses while it is broken; later delays some answers, so that something is in flight when a worker is killed. */
const makeApplication = Effect.gen(function* () {
  const mood = { broken: true, holding: false }
  const held: Array<() => void> = []
  const receiver = yield* makeReceiver({
    behaviours: {
      "/in": (answer) => {
        const reply = () => void answer.reply(mood.broken ? 503 : 200)
        if (mood.holding) held.push(reply)
        else reply()
      }
    }
  })
  return { held, mood, receiver }
})

const eventOf = ({ body }: Received) =>
  JSON.parse(String(body)) as { eventType: string; payload: { n: number } }

interface Fate {
  readonly id: string
  readonly n: number
  readonly failures: number
  readonly successes: number
}

/** For each delivery: its event, and the outcomes of its attempts. */
const fates = rows<Fate>`
    select d.id, (e.payload::json ->> 'n')::integer as n,
      count(a.*) filter (where a.status <> 'delivered')::integer as failures,
      count(a.*) filter (where a.status = 'delivered')::integer as successes
    from posthorn.deliveries d join posthorn.events e on e.workspace_id = d.workspace_id and e.id = d.event_id
    left join posthorn.attempts a on a.workspace_id = d.workspace_id and a.delivery_id = d.id
    where d.event_type = 'order.paid' group by d.workspace_id, d.id, e.payload`

/** How often each source was replayed, and the number of audit events about it. */
const replays = rows<{ source: string; times: number; lines: number }>`
    select coalesce(d.replayed_from, d.event_id) as source, count(distinct d.id)::integer as times,
      count(a.id)::integer as lines
    from posthorn.deliveries d
    left join posthorn.audit_events a on a.workspace_id = d.workspace_id and a.target_id = d.id
      and a.action = 'webhook.delivery_replayed'
      and coalesce(a.changes ->> 'replayedFrom', a.changes ->> 'eventId') = coalesce(d.replayed_from, d.event_id)
    where d.replay_id is not null group by 1`

it.scopedLive(
  "§4.6 replays all of an outage, each event once more than it failed, though workers and server are killed meanwhile",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { held, mood, receiver } = yield* makeApplication
      const port = yield* freePort
      const server = yield* serveAt(port, COMPRESSED)
      const api = yield* workspaceAt(port, "acme")
      const first = yield* startWorker(COMPRESSED)
      const size = { deadLettered: DEAD_LETTERED, missed: MISSED }
      const { endpointId, events, since } = yield* suffer(api, receiver.url("/in"), "order.paid", size)
      const path = `/webhooks/${endpointId}`

      mood.broken = false
      yield* api("PATCH", path, { enabled: true })
      const test = yield* api("POST", `${path}/test-event`, { waitSeconds: 15 })
      const range = { since, includeMissed: true }
      const counted = yield* api("POST", `${path}/replays`, { ...range, dryRun: true })
      const started = yield* api("POST", `${path}/replays`, range)

      const job = api("GET", `/webhooks/replays/${started.body.id}`)
      const interrupted = new Map<string, number>()
      /** Until a number are replayed and some of them are in flight: no answer comes, so the job stops there. */
      const heldAt = (replayed: number) =>
        Effect.gen(function* () {
          yield* within(25, job, ({ body }) => body.replayed >= replayed)
          mood.holding = true
          yield* within(
            20,
            Effect.sync(() => held.length),
            (n) => n >= 2
          )
        })
      const released = Effect.sync(() => {
        mood.holding = false
        for (const reply of held.splice(0)) reply()
      })
      const killedAt = (worker: typeof first, replayed: number) =>
        heldAt(replayed).pipe(
          Effect.zipRight(killWorker(worker, receiver, interrupted)),
          Effect.zipRight(released),
          Effect.zipRight(startWorker(COMPRESSED))
        )
      const second = yield* killedAt(first, 200)
      yield* heldAt(600)
      server.signal("SIGKILL")
      yield* server.ended
      yield* serveAt(port, COMPRESSED)
      yield* released
      yield* killedAt(second, 800)
      const done = yield* within(30, job, ({ body }) => body.state !== "running")
      yield* within(30, sql`select from posthorn.queue`, (rows) => rows.length === 0)

      expect(test.body.status).toBe("delivered")
      expect(counted).toMatchObject({ status: 200, body: { matched: JOB, missed: MISSED } })
      expect(done.body).toMatchObject({
        state: "done",
        matched: JOB,
        missed: MISSED,
        replayed: JOB,
        failed: 0
      })
      expect(yield* tally).toEqual({ dead_lettered: DEAD_LETTERED, delivered: events + 1 })

      // What was in flight when its worker was killed was sent again under its own id, and nothing else was.
      const told = yield* fates
      const requests = requestsByDelivery(receiver)
      const surplus = told.filter(
        ({ failures, id, successes }) =>
          (requests.get(id) ?? 0) !== failures + successes + (interrupted.get(id) ?? 0)
      )
      expect(surplus).toEqual([])
      expect(interrupted.size).toBeGreaterThanOrEqual(4)

      const failed = Array(events).fill(0)
      const delivered = Array(events).fill(0)
      const repeated = Array(events).fill(0)
      for (const { failures, id, n, successes } of told) {
        failed[n] += failures
        delivered[n] += successes
        repeated[n] += interrupted.get(id) ?? 0
      }
      const arrived = Array(events).fill(0)
      for (const request of receiver.received) {
        const { eventType, payload } = eventOf(request)
        if (eventType === "order.paid") arrived[payload.n] += 1
      }
      expect(delivered).toEqual(Array(events).fill(1))
      expect(arrived).toEqual(failed.map((failures, n) => failures + 1 + repeated[n]))

      const sources = yield* replays
      expect(sources).toHaveLength(JOB)
      expect(sources.filter(({ lines, times }) => times !== 1 || lines !== 1)).toEqual([])
      yield* lawsHold
    }).pipe(Effect.provide(Setting))
)
