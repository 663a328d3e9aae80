/** Endpoints that keep the secret of the sender they had before, up to the receiver that verifies with it. */
import { randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect, Logger, Redacted, Ref } from "effect"
import { Webhook } from "standardwebhooks"
import { makeEndpoint, publish } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { serverAndWorker } from "../mcp/Agent.ts"
import { entered, MASTER_KEY, TestServer } from "../TestServer.ts"

const standard = (bytes: number) => `whsec_${randomBytes(bytes).toString("base64")}`
const HOOKS = "https://example.com/hooks"
const create = (body: object) => ({ body: { url: HOOKS, eventTypes: ["*"], ...body } })

layer(serverAndWorker, { excludeTestServices: true })("a secret that is taken over", (it) => {
  const kinds: ReadonlyArray<
    readonly [string, string, { readonly signingSecretEncoding?: "text" }, Webhook]
  > = [
    ...[24, 32, 64].map((bytes) => {
      const secret = standard(bytes)
      return [`whsec_ of ${bytes} bytes`, secret, {}, new Webhook(secret)] as const
    }),
    ...["0123456789abcdef", "~".repeat(256)].map(
      (secret) => [`${secret.length} characters`, secret, {}, new Webhook(secret, { format: "raw" })] as const
    ),
    ...["whsec_the_secret_of_another_sender", standard(32)].map(
      (secret) =>
        [secret, secret, { signingSecretEncoding: "text" }, new Webhook(secret, { format: "raw" })] as const
    )
  ]

  it.scoped("§2.1 verifies what is sent, also in the 24 hours after a rotation", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      for (const [kind, signingSecret, encoding, verifier] of kinds) {
        const receiver = yield* makeReceiver()
        const id = yield* makeEndpoint(ws, { url: receiver.url("/ok"), signingSecret, ...encoding })
        const verified = (count: number, by: Webhook) =>
          Effect.gen(function* () {
            yield* publish(ws)
            const sent = (yield* receiver.waitFor(count))[count - 1]!
            const headers = Object.fromEntries(
              sent.headers.map(([name, value]) => [name.toLowerCase(), value])
            )
            const explained = yield* ws.call("POST", `/webhooks/${id}/explain-signature`, {
              body: { headers, body: sent.body.toString("utf8") }
            })
            expect([kind, explained.body.verdict]).toEqual([kind, "right"])
            return [
              by.verify(sent.body.toString("utf8"), headers),
              headers["webhook-signature"]!.split(" ").length
            ]
          })

        expect([kind, (yield* verified(1, verifier))[1]]).toEqual([kind, 1])
        const rotated = yield* ws.call("POST", `/webhooks/${id}/rotate-secret`)
        expect(rotated.body.signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
        expect([kind, (yield* verified(2, verifier))[1]]).toEqual([kind, 2])
        yield* verified(3, new Webhook(String(rotated.body.signingSecret)))
        yield* ws.call("DELETE", `/webhooks/${id}`)
      }
    })
  )

  it.effect("§2.1 refuses what is no secret, and never repeats it", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const malformed = [
        { signingSecret: "whsec_the_secret_of_another_sender" },
        { signingSecret: standard(16) },
        { signingSecret: "fifteen-letters" },
        { signingSecret: `${"a".repeat(256)}b` },
        { signingSecret: "a secret with spaces" },
        { signingSecret: "schlüssel-des-vorigen-absenders" },
        { signingSecret: 1234567890123456 },
        { signingSecret: null },
        { signingSecretEncoding: "text" }
      ]
      for (const body of malformed) {
        const refused = yield* ws.call("POST", "/webhooks", create(body))
        expect([body, refused.status, refused.body._tag]).toEqual([body, 400, "InvalidRequest"])
        expect(refused.body.issues).toMatchObject([{ path: "/signingSecret" }])
        if (typeof body.signingSecret === "string") expect(refused.text).not.toContain(body.signingSecret)
      }
      const other = yield* ws.call(
        "POST",
        "/webhooks",
        create({ signingSecret: standard(32), signingSecretEncoding: "hex" })
      )
      expect(other.body.issues).toMatchObject([{ path: "/signingSecretEncoding" }])
    })
  )

  it.effect(
    "§2.1 is kept sealed and shown nowhere: not by a tool, under a key, in the audit log or in logs",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        const sql = yield* SqlClient
        const logged = yield* Ref.make("")
        const secrets = [standard(32), "the-secret-of-another-sender"]
        const logger = Logger.make(({ message }) => {
          Effect.runSync(Ref.update(logged, (text) => `${text}\n${JSON.stringify(message)}`))
        })
        const answers = yield* Effect.gen(function* () {
          const created = yield* ws.call("POST", "/webhooks", {
            ...create({ signingSecret: secrets[0] }),
            headers: { "idempotency-key": "once" }
          })
          const again = yield* ws.call("POST", "/webhooks", {
            ...create({ signingSecret: secrets[0] }),
            headers: { "idempotency-key": "once" }
          })
          expect([created.status, again.status, again.body]).toEqual([201, 201, created.body])
          const tool = yield* callTool(url, ws.token, "create_webhook_endpoint", {
            url: HOOKS,
            eventTypes: ["*"],
            signingSecret: secrets[1]
          })
          const shown = yield* ws.call("GET", `/webhooks/${created.body.id}`)
          const audit = yield* ws.call("GET", "/audit-events")
          return { created, again, tool, shown, audit }
        }).pipe(Effect.provide(Logger.add(logger)))

        const rows = yield* sql`
        select e::text, (select string_agg(a::text, ' ') from posthorn.audit_events a) as audits,
          (select string_agg(k::text, ' ') from posthorn.idempotent_answers k) as kept from posthorn.endpoints e
        where workspace_id = ${ws.workspaceId}`
        const everything = JSON.stringify([answers, rows, yield* logged])
        for (const secret of secrets) {
          const hex = Buffer.from(secret).toString("hex")
          const key = Buffer.from(secret.replace("whsec_", ""), "base64").toString("hex")
          for (const spelling of [secret, hex, key]) expect(everything).not.toContain(spelling)
        }
        const [row] = yield* sql<{ secret: Buffer }>`
        select secret from posthorn.endpoints where id = ${answers.created.body.id}`
        const box = SecretBox.make([MASTER_KEY])
        const where = { workspaceId: ws.workspaceId, endpointId: answers.created.body.id }
        expect(Redacted.value(SecretBox.openOrThrow(box, where, row!.secret))).toBe(
          secrets[0]!.replace("whsec_", "taken_")
        )
      })
  )
})
