/** A table that a load reads is locked: rows read before the lock ended must not be sent. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { generateSecret, verify } from "@posthorn/signature"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { box, enable, endpoint, publish, Setting, statuses, until, worker, workspace } from "../Setting.ts"

/** The greatest allowed age of what is sent. */
const MOST_MS = 1_000

layer(Setting, { excludeTestServices: true })("a load that was answered late", (it) => {
  it.scoped("§3.4 is not sent: disabling, a new URL, rotation and expiry apply from their commit", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const made = (name: string) => endpoint(acme, receiver.url(`/ok?${name}`))
      const [off, moved, rotated, grace] = [
        yield* made("off"),
        yield* made("before"),
        yield* made("rotated"),
        yield* made("grace")
      ]
      const sealed = (endpointId: string, secret: Redacted.Redacted | string) =>
        box.seal(
          { workspaceId: acme.id, endpointId },
          typeof secret === "string" ? Redacted.make(secret) : secret
        )
      const [current, old] = [generateSecret(), generateSecret()]
      yield* sql`update posthorn.endpoints set previous_secret = ${sealed(grace.id, old)},
        previous_secret_expires_at = clock_timestamp() + interval '1 minute' where id = ${grace.id}`
      yield* worker()
      yield* publish(acme).pipe(
        Effect.zipRight(sql`update posthorn.queue set due_at = now() + interval '300 milliseconds'`),
        sql.withTransaction
      )
      const [begun, over] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holder =
        yield* sql`lock table posthorn.deliveries, posthorn.events in access exclusive mode`.pipe(
          Effect.zipRight(Deferred.succeed(begun, undefined)),
          Effect.zipRight(Deferred.await(over)),
          sql.withTransaction,
          Effect.forkScoped
        )
      yield* Deferred.await(begun)
      yield* until(
        sql`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%posthorn.load%'
          and datname = current_database() and pid <> pg_backend_pid()`,
        (waiting) => waiting.length > 0
      )
      yield* sql`update posthorn.endpoints set
        enabled = id <> ${off.id}, disabled_reason = case when id = ${off.id} then 'manual' end,
        url = case when id = ${moved.id} then ${receiver.url("/ok?after")} else url end,
        secret = case when id = ${rotated.id} then ${sealed(rotated.id, current)}::bytea else secret end,
        previous_secret_expires_at = case when previous_secret is not null then clock_timestamp() end
        where workspace_id = ${acme.id}`
      // biome-ignore lint/plugin: an answer is forgotten after this time
      yield* Effect.sleep(MOST_MS + 200)
      yield* Deferred.succeed(over, undefined)
      yield* Fiber.join(holder)

      yield* until(statuses(acme), (all) => all.filter((status) => status === "delivered").length === 3)
      const sentTo = () => receiver.received.map(({ target }) => target.split("?")[1])
      expect(sentTo().sort()).toEqual(["after", "grace", "rotated"])
      const verified = (name: string, secret: string) => {
        const { body, headers } = receiver.received.find(({ target }) => target.endsWith(name))!
        const all = Object.fromEntries(headers.map(([key, value]) => [key.toLowerCase(), value]))
        expect(all["webhook-signature"]).not.toContain(" ")
        return verify({ secrets: [secret], headers: all, body }).id
      }
      verified("rotated", current)
      verified("grace", grace.secret)
      yield* enable(off.id)
      yield* until(statuses(acme), (all) => all.every((status) => status === "delivered"))
      expect(sentTo().filter((name) => name === "off")).toHaveLength(1)
      expect(receiver.received).toHaveLength(4)
    })
  )
})
