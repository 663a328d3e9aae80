/** Whom a workspace tells what: what is accepted and shown, and that no answer contains a Slack URL. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { AlertSecrets } from "@posthorn/domain/Alerts"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { Effect, Redacted, Schema } from "effect"
import { entered, MASTER_KEY, testServer } from "../TestServer.ts"

const SLACK = "https://hooks.slack.com/services/T0/B0/geheim"
const MAIL = { kind: "email", to: "oncall@example.com", on: ["endpoint.failing", "endpoint.disabled"] }
const BY_SLACK = { kind: "slack", url: SLACK, on: ["delivery.dead_lettered"] }

interface Shown {
  readonly alerts: ReadonlyArray<Record<string, unknown>>
  readonly policy: object | null
  readonly _tag: string
  readonly issues: ReadonlyArray<{ readonly path: string; readonly message: string }>
  readonly items: ReadonlyArray<{ readonly changes: unknown }>
}

layer(testServer({ sendsEmail: true }), { excludeTestServices: true })("alerts in the settings", (it) => {
  it.effect("§3.6 shows a fingerprint instead of a Slack URL, and keeps the URL when it is sent back", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const patch = (body: object) => ws.call<Shown>("PATCH", "/settings", { body })
      const stored = Effect.map(
        sql<{ id: string; alertSecrets: Buffer | null }>`
          select id, alert_secrets as "alertSecrets" from posthorn.workspaces where slug = ${ws.slug}`,
        ([row]) =>
          row!.alertSecrets === null
            ? null
            : Schema.decodeSync(Schema.parseJson(AlertSecrets))(
                Redacted.value(
                  SecretBox.openOrThrow(
                    SecretBox.make([MASTER_KEY]),
                    { workspaceId: row!.id, of: "alerts" },
                    row!.alertSecrets
                  )
                )
              ).urls
      )
      const before = yield* ws.call<Shown>("GET", "/settings")
      const first = yield* patch({ alerts: [MAIL, BY_SLACK] })
      const same = yield* patch({ alerts: first.body.alerts })
      const again = yield* patch({ alerts: [MAIL, BY_SLACK], policy: null })
      const read = yield* ws.call<Shown>("GET", "/settings")
      const kept = yield* stored
      const other = yield* patch({ alerts: [{ ...first.body.alerts[1], on: ["endpoint.failing"] }] })
      const none = yield* patch({ alerts: [] })

      expect(before.body.alerts).toEqual([])
      const fingerprint = expect.stringMatching(/^[0-9a-f]{16}$/)
      expect(first.body.alerts).toEqual([MAIL, { kind: "slack", fingerprint, on: BY_SLACK.on }])
      for (const { body } of [same, again, read]) expect(body).toEqual(first.body)
      expect(Object.entries(kept!).map(([name, url]) => [name, Redacted.value(url)])).toEqual([
        [first.body.alerts[1]!.fingerprint, SLACK]
      ])
      expect(other.body.alerts).toEqual([{ ...first.body.alerts[1], on: ["endpoint.failing"] }])
      expect(none.body.alerts).toEqual([])
      expect(yield* stored).toBe(null)
      const { body: log } = yield* ws.call<Shown>("GET", "/audit-events?action=workspace.settings_updated")
      expect(log.items.map(({ changes }) => changes)).toEqual([
        { fields: ["alerts"], from: { alerts: other.body.alerts }, to: { alerts: [] } },
        { fields: ["alerts"], from: { alerts: first.body.alerts }, to: { alerts: other.body.alerts } },
        { fields: ["alerts"], from: { alerts: [] }, to: { alerts: first.body.alerts } }
      ])
      expect(JSON.stringify([first, same, again, read, other, none, log])).not.toContain("geheim")
    })
  )

  it.effect("§3.6 refuses what could not be told, by the place of the fault", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const refused = (...alerts: ReadonlyArray<object>) =>
        Effect.map(ws.call<Shown>("PATCH", "/settings", { body: { alerts } }), ({ body, status }) => [
          status,
          body.issues?.map(({ path }) => path)
        ])
      const slack = (url: string) => ({ ...BY_SLACK, url })
      expect(yield* refused(MAIL, slack("http://hooks.slack.com/x"))).toEqual([400, ["/alerts/1/url"]])
      expect(yield* refused(slack("https://10.0.0.1/"))).toEqual([400, ["/alerts/0/url"]])
      expect(yield* refused({ kind: "slack", fingerprint: "0123456789abcdef", on: BY_SLACK.on })).toEqual([
        400,
        ["/alerts/0/fingerprint"]
      ])
      expect(yield* refused(MAIL, { ...MAIL, to: "ONCALL@example.com" })).toEqual([400, ["/alerts/1/to"]])
      expect(yield* refused(BY_SLACK, BY_SLACK)).toEqual([400, ["/alerts/1/url"]])
      for (const to of [
        "a@b\r\nBcc: c@d.example",
        "a b@example.com",
        "<a@example.com>",
        "a@",
        '"a"@example.com'
      ])
        expect((yield* refused({ ...MAIL, to }))[0], to).toBe(400)
      expect((yield* refused({ ...MAIL, on: [] }))[0]).toBe(400)
      expect((yield* refused({ ...MAIL, on: ["endpoint.failing", "endpoint.failing"] }))[0]).toBe(400)
      expect((yield* refused({ ...MAIL, on: ["endpoint.recovered"] }))[0]).toBe(400)
      const many = (count: number) =>
        Array.from({ length: count }, (_, n) => ({ ...MAIL, to: `a${n}@example.com` }))
      expect((yield* refused(...many(11)))[0]).toBe(400)
      expect((yield* refused(...many(10)))[0]).toBe(200)
    })
  )
})

layer(testServer(), { excludeTestServices: true })("alerts where no e-mail is sent", (it) => {
  it.effect("§3.6 refuses one by e-mail, and takes one by Slack", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const email = yield* ws.call<Shown>("PATCH", "/settings", { body: { alerts: [BY_SLACK, MAIL] } })
      const slack = yield* ws.call<Shown>("PATCH", "/settings", { body: { alerts: [BY_SLACK] } })
      expect([email.status, email.body._tag]).toEqual([409, "EmailNotConfigured"])
      expect(slack.status).toBe(200)
    })
  )
})
