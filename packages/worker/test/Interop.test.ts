/**
 * Requests as the worker sends them, verified by the libraries that receivers use: Standard Webhooks and Svix, in every
 * major version in use, and our own. Their Python, Go and other editions follow the same specification and are not installed
 * here.
 *
 * Also the edges of the grace window, to the millisecond, where they are decided: in the database, by its clock.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { generateSecret, verify } from "@posthorn/signature"
import { make as makeReceiver, type Received } from "@posthorn/testkit/Receiver"
import { Effect, Redacted } from "effect"
import { Webhook as Standard11 } from "standardwebhooks"
import { Webhook as Standard10 } from "standardwebhooks-1-0"
import { Webhook as Svix0 } from "svix-0"
import { Webhook as Svix1 } from "svix-1"
import { Webhook as Svix2 } from "svix-2"
import { box, endpoint, publish, Setting, worker, workspace } from "./Setting.ts"

interface Message {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Gives the verified payload, or throws. */
type Verify = (secret: string, message: Message) => unknown

const byLibrary =
  (
    Library: new (secret: string) => { verify: (body: string, headers: Record<string, string>) => unknown }
  ): Verify =>
  (secret, { body, headers }) =>
    new Library(secret).verify(body.toString("utf8"), { ...headers })

const libraries: Readonly<Record<string, Verify>> = {
  "standardwebhooks 1.1.1": byLibrary(Standard11),
  "standardwebhooks 1.0.0": byLibrary(Standard10),
  "svix 0.85.1": byLibrary(Svix0),
  "svix 1.99.1": byLibrary(Svix1),
  // From its second version on it only verifies.
  "svix 2.5.0": (secret, message) => {
    byLibrary(Svix2)(secret, message)
    return JSON.parse(message.body.toString("utf8"))
  },
  "@posthorn/signature": (secret, { body, headers }) => {
    verify({ body, headers, secrets: secret })
    return JSON.parse(body.toString("utf8"))
  }
}

const PAYLOAD = String.raw`{"ë":"\u0000 \ud83d\ude00 \n ✓","big":12345678901234567890,"small":1e-7,"2":[null,{}]}`

const NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const

const messageOf = ({ body, headers }: Received): Message => {
  const all = new Headers(headers.map(([name, value]) => [name, value]))
  return { body, headers: Object.fromEntries(NAMES.map((name) => [name, all.get(name) ?? ""])) }
}

const accepts = (library: Verify, secret: string, message: Message) => {
  try {
    library(secret, message)
    return true
  } catch {
    return false
  }
}

/** Changes of one thing each. */
const tampered = ({ body, headers }: Message): Readonly<Record<string, Message>> => {
  const [entry] = headers["webhook-signature"]!.split(" ")
  const header = (name: string, value: string): Message => ({ body, headers: { ...headers, [name]: value } })
  const seconds = Number(headers["webhook-timestamp"])
  const flipped = Buffer.from(body)
  flipped[flipped.length - 2]! ^= 1
  return {
    "another body": { headers, body: flipped },
    "a space more": { headers, body: Buffer.concat([body, Buffer.from(" ")]) },
    "another id": header("webhook-id", `${headers["webhook-id"]}0`),
    "another time": header("webhook-timestamp", String(seconds + 1)),
    "ten minutes old": header("webhook-timestamp", String(seconds - 600)),
    "another signature": header("webhook-signature", `v1,${"A".repeat(43)}=`),
    "another version": header("webhook-signature", entry!.replace("v1,", "v2,")),
    "no signature": header("webhook-signature", "")
  }
}

/** Like a rotation, which ends at a whole millisecond: makes this the previous secret, valid for this long. */
const rotatedFrom = (workspaceId: string, endpointId: string, old: string, endsIn: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const sealed = box.seal({ workspaceId, endpointId }, Redacted.make(old))
    return sql`update posthorn.endpoints set previous_secret = ${sealed},
      previous_secret_expires_at = date_trunc('milliseconds', now()) + ${endsIn}::interval where id = ${endpointId}`
  })

const verdicts = (secret: string, message: Message) =>
  Object.fromEntries(
    Object.entries(libraries).map(([name, library]) => [name, accepts(library, secret, message)])
  )

const everybody = (verdict: boolean) =>
  Object.fromEntries(Object.keys(libraries).map((name) => [name, verdict]))

layer(Setting, { excludeTestServices: true })("receivers' libraries", (it) => {
  const sent = (endsIn: string) =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id, secret } = yield* endpoint(acme, receiver.url("/ok"))
      const old = generateSecret()
      yield* rotatedFrom(acme.id, id, old, endsIn)
      yield* publish(acme, 1, "invoice.paid", PAYLOAD)
      yield* worker()
      const [request] = yield* receiver.waitFor(1)
      return { message: messageOf(request!), secret, old }
    })

  it.scoped("§3.3 accept what is sent in the grace window, with the new secret and with the old one", () =>
    Effect.gen(function* () {
      const { message, old, secret } = yield* sent("24 hours")

      expect(verdicts(secret, message)).toEqual(everybody(true))
      expect(verdicts(old, message)).toEqual(everybody(true))
      expect(verdicts(generateSecret(), message)).toEqual(everybody(false))
      expect(message.headers["webhook-signature"]!.split(" ")).toHaveLength(2)
    })
  )

  it.scoped("§3.3 accept what is sent after the window with the new secret only", () =>
    Effect.gen(function* () {
      const { message, old, secret } = yield* sent("0 seconds")

      expect(verdicts(secret, message)).toEqual(everybody(true))
      expect(verdicts(old, message)).toEqual(everybody(false))
      expect(message.headers["webhook-signature"]).toMatch(/^v1,[\w+/]{43}=$/)
    })
  )

  it.scoped("§4.1 refuse it when any one thing is changed, under either secret", () =>
    Effect.gen(function* () {
      const { message, old, secret } = yield* sent("24 hours")

      for (const [what, wrong] of Object.entries(tampered(message)))
        for (const each of [secret, old])
          expect([what, verdicts(each, wrong)]).toEqual([what, everybody(false)])
    })
  )

  it.scoped("§4.1 read the same payload from it, whatever it contains", () =>
    Effect.gen(function* () {
      const { message, secret } = yield* sent("24 hours")

      for (const [name, library] of Object.entries(libraries))
        expect([name, library(secret, message)]).toEqual([name, JSON.parse(message.body.toString("utf8"))])
    })
  )

  it.scoped("§3.4 the old secret signs until the window ends, whenever the transaction began", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, "https://example.com/hooks")
      yield* publish(acme)
      const signsAt = ([endsIn, after]: readonly [endsIn: string, after: number]) =>
        Effect.gen(function* () {
          yield* rotatedFrom(acme.id, id, generateSecret(), endsIn)
          yield* sql`select pg_sleep(${after})`
          const [loaded] = yield* sql<{ signs: boolean }>`
            select l.previous_secret is not null as signs
            from posthorn.deliveries d
            cross join lateral posthorn.load(array[d.workspace_id], array[d.id], array[d.endpoint_id], array[0::smallint], array[0::bigint]) l
            where d.workspace_id = ${acme.id}`
          return loaded!.signs
        }).pipe(sql.withTransaction)
      const seen = yield* Effect.forEach(
        [
          ["24 hours", 0],
          ["20 seconds", 0.05],
          ["20 milliseconds", 0.05],
          ["0 seconds", 0]
        ] as const,
        signsAt
      )

      expect(seen).toEqual([true, true, false, false])
    })
  )
})
