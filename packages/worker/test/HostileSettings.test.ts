/** The database or the role has settings that change what SQL means: Posthorn works as usual. */
import { expect, it } from "@effect/vitest"
import * as Database from "@posthorn/persistence/client/Database"
import * as DedicatedConnection from "@posthorn/persistence/client/DedicatedConnection"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { makeHostile } from "@posthorn/testkit/Hostile"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { execute, randomName } from "@posthorn/testkit/TestCluster"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { lawsHold } from "./processes/Story.ts"
import { attempts, box, deliveries, drained, endpoint, publish, until, worker, workspace } from "./Setting.ts"

const connected = (url: Redacted.Redacted, maxConnections = 10) =>
  Layer.merge(
    Database.layer({ url, applicationName: "posthorn-test", maxConnections }),
    Layer.succeed(SecretBox.SecretBox, box)
  )

it.scopedLive("§3.4 delivers, retries and records whatever the database's settings are", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    yield* makeHostile(url)
    yield* Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoint(acme, receiver.url("/schedule/500-429-200"))
      yield* endpoint(acme, receiver.url("/status/404"))
      yield* worker()
      const payload = '{"a\\\\b": "\\u0041 \u2026 null"}'
      yield* publish(acme, 2, "invoice.paid", payload)
      yield* drained(acme)

      const rows = yield* until(deliveries(acme), (all) => all.length === 4)
      expect(rows.map(({ status }) => status).sort()).toEqual([
        "delivered",
        "delivered",
        "failed_permanent",
        "failed_permanent"
      ])
      expect((yield* attempts(acme)).length).toBeGreaterThanOrEqual(5)
      for (const { body } of receiver.received) expect(body.toString()).toContain(payload)
      yield* lawsHold
    }).pipe(Effect.provide(connected(url)))
  })
)

it.scopedLive("§3.4 refuses a role that runs no triggers, and names the setting", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const [role, text] = [randomName("r"), Redacted.value(url)]
    yield* Effect.acquireRelease(
      execute(
        text,
        `create role ${role} login password 'x'`,
        `alter role ${role} set session_replication_role = replica`
      ),
      () => execute(text, `drop role ${role}`)
    )
    const theirs = new URL(text)
    Object.assign(theirs, { username: role, password: "x" })
    const refused = yield* Effect.flip(Layer.build(connected(Redacted.make(theirs.href))))
    expect(String((refused.cause as Error).message)).toContain("session_replication_role")
  })
)

it.scopedLive("§3.4 a session ends within 6 s after its worker is gone, whatever it waits for", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const waiting = rows`select from pg_stat_activity where application_name = 'posthorn left' and datname = current_database()`
    yield* Effect.gen(function* () {
      const left = yield* Scope.make()
      const { open } = yield* DedicatedConnection.DedicatedConnections
      const connection = yield* Scope.extend(open("posthorn left"), left)
      yield* Effect.fork(connection.query("select pg_sleep(60)"))
      yield* until(waiting, (found) => found.length === 1)
      yield* Scope.close(left, Exit.void)
      yield* until(waiting, (found) => found.length === 0).pipe(Effect.timeout("6 seconds"))
    }).pipe(Effect.provide(Layer.provideMerge(DedicatedConnection.layer, connected(url, 2))))
  })
)
