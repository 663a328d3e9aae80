/** Endpoints whose secrets no key opens: nothing is sent to them, and they delay no others. On a real PostgreSQL. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect, Logger } from "effect"
import { endpoint, publish, Setting, statuses, until, worker, workspace } from "./Setting.ts"

const SHUT = 10

layer(Setting, { excludeTestServices: true })("endpoints whose secrets cannot be opened", (it) => {
  it.scoped("§3.4 leave their slots to others, and keep their waiting deliveries", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* Effect.replicateEffect(endpoint(acme, receiver.url("/shut")), SHUT, { discard: true })
      yield* sql`update posthorn.endpoints set secret = sha256(secret) || secret where workspace_id = ${acme.id}`
      yield* endpoint(acme, receiver.url("/ok"))
      yield* publish(acme)

      const unheard = Logger.replace(Logger.defaultLogger, Logger.none)
      yield* worker({ batchSize: 1, maxConcurrency: 1 }).pipe(Effect.provide(unheard))

      const all = yield* until(statuses(acme), (seen) => seen.includes("delivered"))
      expect(all.filter((status) => status === "pending")).toHaveLength(SHUT)
      expect(receiver.receivedAt("/shut")).toEqual([])
    })
  )
})
