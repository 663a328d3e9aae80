/** `posthorn run`: both roles in one process, as a small installation runs it. */
import { expect, it } from "@effect/vitest"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { scrape } from "./processes/Scrapes.ts"
import { serveAt, workspaceAt } from "./processes/ServeProcess.ts"
import { holding, lawsHold, repeatsIn, tally, within } from "./processes/Story.ts"
import { Setting } from "./Setting.ts"

const readyAt = (origin: string) =>
  Effect.promise(async () => {
    const answer = await fetch(`${origin}/health/ready`)
    return [answer.status, ((await answer.json()) as { readonly reason?: string }).reason] as const
  })

it.scopedLive("§10 run serves and delivers, and shows the meters of both on its one port", () =>
  Effect.gen(function* () {
    const receiver = yield* makeReceiver()
    const port = yield* freePort
    yield* serveAt(port, { DRAIN_SECONDS: "2" }, "run")
    const api = yield* workspaceAt(port, "acme")
    yield* api("POST", "/webhooks", { url: receiver.url("/ok"), eventTypes: ["order.paid"] })
    for (let n = 0; n < 5; n++) yield* api("POST", "/events", { eventType: "order.paid", payload: { n } })
    yield* within(25, tally, ({ delivered }) => delivered === 5)

    const meters = yield* scrape(api.origin)
    expect(yield* readyAt(api.origin)).toEqual([200, undefined])
    for (const [name, labels, n] of [
      ["requests_total", { operation: "publishEvent", status: "202" }, 5],
      ["shards_held", {}, 32],
      ["build_info", { role: "run" }, 1],
      ["database_connections_max", { pool: "serve" }, 20],
      ["database_connections_max", { pool: "work" }, 3]
    ] as const)
      expect([name, meters.sum(`posthorn_${name}`, labels)]).toEqual([name, n])
  }).pipe(Effect.provide(Setting))
)

it.scopedLive("§10 run drains when it is stopped, delivers meanwhile, and finishes its attempts", () =>
  Effect.gen(function* () {
    const open: Array<() => void> = []
    const receiver = yield* makeReceiver({ behaviours: { "/held": holding(1, open) } })
    const port = yield* freePort
    const process = yield* serveAt(port, { DRAIN_SECONDS: "3" }, "run")
    const api = yield* workspaceAt(port, "acme")
    yield* api("POST", "/webhooks", { url: receiver.url("/held"), eventTypes: ["order.paid"] })
    yield* api("POST", "/events", { eventType: "order.paid", payload: 1 })
    yield* receiver.waitFor(1)

    process.signal("SIGTERM")
    yield* within(3, readyAt(api.origin), ([status, reason]) => status === 503 && reason === "draining")
    const during = yield* api("POST", "/events", { eventType: "order.paid", payload: 2 })
    expect(during.status).toBe(202)
    yield* receiver.waitFor(2)
    yield* within(
      25,
      Effect.promise(() =>
        fetch(api.origin).then(
          () => true,
          () => false
        )
      ),
      (serves) => !serves
    )
    expect(process.running()).toBe(true)
    for (const answer of open.splice(0)) answer()

    expect(yield* process.ended).toEqual({ code: 0, signal: null })
    expect(yield* tally).toEqual({ delivered: 2 })
    expect(repeatsIn(receiver.received)).toBe(0)
    yield* lawsHold
  }).pipe(Effect.provide(Setting))
)
