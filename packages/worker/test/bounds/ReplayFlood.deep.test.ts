/** Bounds of replay jobs: one keeps a third of its speed while three other workspaces have theirs. */
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { untilAsked } from "@posthorn/testkit/Until"
import { Effect } from "effect"
import { call } from "./Doors.ts"
import { receiverAtOnce } from "./HostileReceivers.ts"
import { installation } from "./Installation.ts"

const EVENTS = 600
const OTHERS = 3

interface Job {
  readonly id: string
  readonly replayed: number
  readonly state: string
  readonly createdAt: string
  readonly finishedAt: string
}

layer(TestPg, { excludeTestServices: true })("bounds of replays", (it) => {
  it.scoped(
    "§4.6 a replay job beside those of three other workspaces keeps a third of its speed alone",
    () =>
      Effect.gen(function* () {
        const { enter, url } = yield* installation(["REST_READ", "REST_WRITE", "EVENT_PUBLISH"])
        const receiver = yield* receiverAtOnce

        /** A workspace whose endpoints were disabled when events came; what replays those of one, and gives how many a second. */
        const missed = async (slug: string, endpoints: number) => {
          const { token } = await enter(slug)
          const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
          const ask = async <A>(method: string, path: string, body?: unknown) => {
            const answer = await call(url, {
              method,
              path: `/workspaces/${slug}${path}`,
              headers,
              ...(body !== undefined && { body: JSON.stringify(body) })
            })
            if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
            return answer.body as A
          }
          const webhook = { url: receiver.url, eventTypes: ["replay.flood"] }
          const made = await Promise.all(
            Array.from({ length: endpoints }, () => ask<{ id: string }>("POST", "/webhooks", webhook))
          )
          const enable = (enabled: boolean) =>
            Promise.all(made.map(({ id }) => ask("PATCH", `/webhooks/${id}`, { enabled })))
          await enable(false)
          const event = { eventType: "replay.flood", payload: { text: "x".repeat(100) } }
          await ask("POST", "/events/batch", { events: Array.from({ length: EVENTS }, () => event) })
          await enable(true)
          return made.map((endpoint) => async () => {
            const { id } = await ask<Job>("POST", `/webhooks/${endpoint.id}/replays`, {
              since: "2000-01-01T00:00:00Z",
              includeMissed: true
            })
            const { createdAt, finishedAt, replayed } = await untilAsked(
              () => ask<Job>("GET", `/webhooks/replays/${id}`),
              ({ state }) => state === "done",
              "1 minute"
            )
            expect(replayed).toBe(EVENTS)
            return (1_000 * replayed) / (Date.parse(finishedAt) - Date.parse(createdAt))
          })
        }

        const [first, second] = yield* Effect.promise(() => missed("replays", 2))
        const others = yield* Effect.promise(() =>
          Promise.all(Array.from({ length: OTHERS }, (_, n) => missed(`replays-${n}`, 1)))
        )
        const alone = yield* Effect.promise(first!)
        const [beside] = yield* Effect.promise(() =>
          Promise.all([second!, ...others.flat()].map((replay) => replay()))
        )
        process.stdout.write(`replays a second: ${alone.toFixed(0)} alone, ${beside!.toFixed(0)} beside\n`)
        expect(beside! / alone).toBeGreaterThan(1 / 3)
      }),
    600_000
  )
})
