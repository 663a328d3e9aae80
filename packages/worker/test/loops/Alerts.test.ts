/** What people are told by e-mail and Slack: once, whatever is away and however many workers tell it, and nothing that is not ours. */
import { createServer, type Socket } from "node:net"
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, layer } from "@effect/vitest"
import type { AlertCause } from "@posthorn/domain/Alerts"
import * as AlertQueue from "@posthorn/persistence/engine/Alerts"
import { EvidenceRepo } from "@posthorn/persistence/repositories/EvidenceRepo"
import { authority } from "@posthorn/testkit/Certificates"
import { freePort } from "@posthorn/testkit/FreePort"
import * as MailServer from "@posthorn/testkit/MailServer"
import * as Receiver from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { until } from "@posthorn/testkit/Until"
import { Context, Effect, Layer, Redacted } from "effect"
import { AlertConfig, type Smtp } from "../../src/alerts/AlertConfig.ts"
import { sendMail } from "../../src/alerts/Mail.ts"
import * as Sender from "../../src/attempt/Sender.ts"
import * as Alerts from "../../src/loops/Alerts.ts"
import { WorkerConfig } from "../../src/WorkerConfig.ts"
import {
  away,
  box,
  endpoint,
  publish,
  Setting,
  settings,
  type Workspace,
  worker,
  workspace
} from "../Setting.ts"

const BASE_URL = "https://hooks.example.com"
const CAUSES = ["endpoint.failing", "endpoint.disabled", "delivery.dead_lettered"] as const
const FINGERPRINT = "0123456789abcdef"

const smtpAt = (port: number, changes: Partial<Smtp> = {}): Smtp => ({
  host: "localhost",
  port,
  security: "starttls",
  login: null,
  from: { name: null, address: "alerts@example.com" },
  ca: authority(),
  ...changes
})

/** The part of a worker that tells; its loops are called by hand. */
const alerting = (smtp: Smtp | null, retryDelayMs = 300) =>
  Effect.map(
    Layer.build(
      Layer.fresh(Alerts.layer).pipe(
        Layer.provide([AlertQueue.layer, EvidenceRepo.Default, Sender.layer]),
        Layer.provide(Layer.succeed(WorkerConfig, { ...settings, retryDelayMs })),
        Layer.provide(
          Layer.succeed(AlertConfig, { name: "Acme hooks", accent: "#0a7d4f", baseUrl: BASE_URL, smtp })
        )
      )
    ),
    Context.get(Alerts.Alerting)
  )

type Telling = Context.Tag.Service<Alerts.Alerting>

const tell = ({ send, settled }: Telling) => Effect.zipRight(send, settled)

const mail = (to: string, on: ReadonlyArray<AlertCause> = CAUSES) => ({ kind: "email", to, on })
const slack = { kind: "slack", fingerprint: FINGERPRINT, on: CAUSES }

/** A workspace with these alerts; Slack's URL is sealed as the settings seal it. */
const workspaceWith = (alerts: ReadonlyArray<object>, url = "") =>
  Effect.gen(function* () {
    const where = yield* workspace
    const sql = yield* SqlClient
    const secrets = JSON.stringify({ fingerprintKey: "a2V5", urls: { [FINGERPRINT]: url } })
    const sealed = box.seal({ workspaceId: where.id, of: "alerts" }, Redacted.make(secrets))
    yield* sql`update posthorn.workspaces set alerts = ${JSON.stringify(alerts)}::text::jsonb, alert_secrets = ${sealed}
      where id = ${where.id}`
    return where
  })

const note = ({ id }: Workspace, cause: AlertCause, endpointId: string, times = 1) =>
  rows`select posthorn.note_alerts(array(select row(${id}::text, ${cause}::text, jsonb_build_object('endpointId', ${endpointId}::text),
    null)::posthorn.happening from generate_series(1, ${times}::integer)))`

const anHourLater = rows`update posthorn.alert_hours set began_at = began_at - interval '1 hour'`

const told = ({ id }: Workspace) =>
  rows<{ state: string; attempts: number; lastError: string | null; recipient: string }>`
    select state, attempts, last_error as "lastError", recipient from posthorn.alerts where workspace_id = ${id} order by id`

const decoded = (message: string) =>
  Buffer.from(
    message
      .replace(/=\r?\n/g, "")
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1"
  )
    .toString("utf8")
    .replaceAll("\u200b", "")

const headersOf = (message: string) =>
  message
    .slice(0, message.indexOf("\r\n\r\n"))
    .replace(/\r\n[ \t]/g, " ")
    .split("\r\n")

/** The texts of a message to Slack. */
const textsOf = (body: Buffer | string) => {
  const { blocks, text } = JSON.parse(String(body)) as {
    text: string
    blocks: ReadonlyArray<{ text: { text: string } }>
  }
  return [text, ...blocks.map((block) => block.text.text)].map((one) => one.replaceAll("\u200b", ""))
}

layer(Setting, { excludeTestServices: true })("alerts by Slack", (it) => {
  it.scoped(
    "§3.6 tells a channel once, after it was away, and in one digest what followed within the hour",
    () =>
      Effect.gen(function* () {
        const channel = away()
        const receiver = yield* Receiver.make({ behaviours: { "/hook": channel.behaviour } })
        const where = yield* workspaceWith([slack], receiver.url("/hook"))
        const [one, other] = [
          yield* endpoint(where, receiver.url("/one")),
          yield* endpoint(where, receiver.url("/two"))
        ]
        const alerts = yield* alerting(null)
        yield* note(where, "delivery.dead_lettered", one.id)
        yield* alerts.fold
        yield* tell(alerts)
        expect(yield* told(where)).toMatchObject([
          { state: "pending", attempts: 1, lastError: "Answered 503", recipient: FINGERPRINT }
        ])
        channel.state.back = true
        yield* note(where, "delivery.dead_lettered", one.id, 3)
        yield* note(where, "delivery.dead_lettered", other.id, 5)
        yield* alerts.fold
        yield* until(Effect.zipRight(tell(alerts), told(where)), ([first]) => first!.state === "sent")
        yield* anHourLater
        yield* alerts.fold
        yield* until(
          Effect.zipRight(tell(alerts), told(where)),
          (all) => all.length === 2 && all.every(({ state }) => state === "sent")
        )
        const accepted = receiver
          .receivedAt("/hook")
          .map(({ body }) => textsOf(body))
          .slice(-2)
        expect(accepted[0]).toEqual([
          `127.0.0.1:${receiver.port}/one did not get a delivery · Test`,
          expect.stringContaining("did not get a delivery. It was given up at"),
          `<${BASE_URL}/console/w/${where.slug}/endpoints/${one.id}|See what happened>`
        ])
        expect(accepted[1]![0]).toBe("8 more deliveries were given up · Test")
        expect(accepted[1]![1]).toContain(
          `5 times: 127.0.0.1:${receiver.port}/two\n3 times: 127.0.0.1:${receiver.port}/one`
        )
        expect(receiver.receivedAt("/hook").length).toBe(
          Number((yield* told(where)).reduce((sum, { attempts }) => sum + attempts, 0))
        )
      })
  )

  it.scoped(
    "§3.6 lets one workspace's silent channel hold up nobody else's, and gives up after seven attempts",
    () =>
      Effect.gen(function* () {
        const silent = yield* Receiver.make({ accept: "stall" })
        const receiver = yield* Receiver.make({
          behaviours: {
            "/hook": (answer) => answer.reply(200, "ok"),
            "/gone": (answer) => answer.reply(404, "no_service"),
            "/down": (answer) => answer.reply(500, "")
          }
        })
        const [stuck, fine, gone, down] = [
          yield* workspaceWith([slack], silent.url("/hook")),
          yield* workspaceWith([slack], receiver.url("/hook")),
          yield* workspaceWith([slack], receiver.url("/gone")),
          yield* workspaceWith([slack], receiver.url("/down"))
        ]
        const alerts = yield* alerting(null, 1)
        for (const where of [stuck, fine, gone, down])
          yield* note(where, "endpoint.disabled", (yield* endpoint(where, receiver.url("/x"))).id)
        yield* alerts.fold
        const all = Effect.all([told(stuck), told(fine), told(gone), told(down)])
        const seen = yield* until(
          Effect.zipRight(alerts.send, all),
          ([, b, c, d]) => b[0]!.state === "sent" && c[0]!.state === "failed" && d[0]!.state === "failed"
        )
        expect(seen).toMatchObject([
          [{ state: "pending", attempts: 1, lastError: null }],
          [{ state: "sent", attempts: 1, lastError: null }],
          [{ state: "failed", attempts: 1, lastError: "Answered 404" }],
          [{ state: "failed", attempts: 7, lastError: "Answered 500" }]
        ])
        expect(silent.connections.opened).toBe(1)
        expect(receiver.receivedAt("/down").length).toBe(7)
      })
  )

  it.scoped(
    "§3.6 folds the notes of workspaces behind one whose notes cannot be folded, and of each so many",
    () =>
      Effect.gen(function* () {
        const [broken, busy, fine] = [
          yield* workspaceWith([slack]),
          yield* workspaceWith([slack]),
          yield* workspaceWith([slack])
        ]
        for (const [where, times] of [
          [broken, 1],
          [busy, 5_001],
          [fine, 1]
        ] as const)
          yield* note(where, "endpoint.failing", "whe_1", times)
        yield* rows`update posthorn.workspaces set alerts = '[{"on": "endpoint.failing"}]' where id = ${broken.id}`
        const alerts = yield* alerting(null)
        yield* alerts.fold
        const left = yield* rows<{ id: string }>`select workspace_id as id from posthorn.alert_notes
        where workspace_id in (${broken.id}, ${busy.id}, ${fine.id})`
        expect(left.map(({ id }) => id).sort()).toEqual([broken.id, busy.id].sort())
        expect((yield* told(fine)).length).toBe(1)
        yield* rows`delete from posthorn.alert_notes where workspace_id = ${broken.id}`
      })
  )

  it.scoped(
    "§3.6 sends nothing to a URL that may not be delivered to any more, nor to one that was taken out of the settings",
    () =>
      Effect.gen(function* () {
        const receiver = yield* Receiver.make()
        const where = yield* workspaceWith([slack], "https://10.0.0.1/hook")
        const other = yield* workspaceWith([slack], receiver.url("/hook"))
        const alerts = yield* alerting(null)
        for (const one of [where, other])
          yield* note(one, "endpoint.failing", (yield* endpoint(one, receiver.url("/x"))).id)
        yield* alerts.fold
        yield* rows`update posthorn.workspaces set alerts = '[]' where id = ${other.id}`
        yield* tell(alerts)
        expect((yield* told(where))[0]).toMatchObject({
          state: "failed",
          attempts: 1,
          lastError: expect.stringContaining("The Slack URL is refused: ")
        })
        expect((yield* told(other))[0]).toMatchObject({
          state: "failed",
          lastError: "It was taken out of the settings before it was sent"
        })
        expect(receiver.received.length).toBe(0)
      })
  )
})

describe.skipIf(!MailServer.isThere)("with a mail server", () => {
  layer(Setting, { excludeTestServices: true })("alerts by e-mail", (it) => {
    it.scoped(
      "§3.6 tells once after the mail server was away: which endpoint, what its receiver answers, what was not delivered",
      () =>
        Effect.gen(function* () {
          const receiver = yield* Receiver.make({
            behaviours: { "/hook": (answer) => answer.reply(503, "down") }
          })
          const where = yield* workspaceWith([mail("oncall@example.com")])
          const { id } = yield* endpoint(where, receiver.url("/hook"))
          yield* publish(where, 2)
          yield* worker().pipe(
            Effect.zipRight(
              until(
                rows`select from posthorn.deliveries where workspace_id = ${where.id} and status = 'dead_lettered'`,
                ({ length }) => length === 2
              )
            ),
            Effect.scoped
          )
          yield* rows`delete from posthorn.alert_notes`
          yield* rows`delete from posthorn.alert_hours`
          yield* rows`delete from posthorn.alerts`
          const port = yield* freePort
          const alerts = yield* alerting(
            smtpAt(port, { login: { user: "posthorn", password: Redacted.make("geheim") } })
          )
          yield* note(where, "endpoint.failing", id)
          yield* alerts.fold
          yield* tell(alerts)
          expect(yield* told(where)).toMatchObject([
            { state: "pending", lastError: "No connection to the mail server could be made" }
          ])
          const server = yield* MailServer.make(port, "geheim")
          yield* until(Effect.zipRight(tell(alerts), told(where)), ([one]) => one!.state === "sent")
          yield* tell(alerts)
          expect(server.mails).toMatchObject([
            { from: "alerts@example.com", to: ["oncall@example.com"], secure: true, login: "posthorn" }
          ])
          const { message } = server.mails[0]!
          expect(headersOf(message)).toEqual(
            expect.arrayContaining([
              "From: Acme hooks <alerts@example.com>",
              "To: oncall@example.com",
              "Auto-Submitted: auto-generated",
              expect.stringMatching(/^Message-ID: <alr_[0-9a-f]{29}@example.com>$/)
            ])
          )
          const text = decoded(message)
          for (const part of [
            `In Test, 127.0.0.1:${receiver.port}/hook is failing. It was noticed at `,
            "What we see: The receiver answers 503: it breaks while handling the request.",
            "14 failed attempts in a row",
            "Not delivered: 0 deliveries wait, 2 given up, 0 missed",
            `See what happened: ${BASE_URL}/console/w/${where.slug}/endpoints/${id}`,
            "border-top:4px solid #0a7d4f"
          ])
            expect(text).toContain(part)
          expect(text).not.toMatch(/<img|<script|src=|@import|url\(/)
          expect(text.match(/href="[^"]*"/g)).toEqual([
            `href="${BASE_URL}/console/w/${where.slug}/endpoints/${id}"`
          ])
        })
    )

    it.scoped("§3.6 tells of each alert once, however many workers tell it", () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const server = yield* MailServer.make(port)
        const all: Array<Workspace> = []
        for (let n = 0; n < 25; n++) {
          const where = yield* workspaceWith([mail(`one${n}@example.com`), mail(`two${n}@example.com`)])
          all.push(where)
          yield* note(where, "endpoint.disabled", (yield* endpoint(where, "https://example.com/hook")).id)
        }
        const [first, second] = [yield* alerting(smtpAt(port)), yield* alerting(smtpAt(port))]
        const both = (of: (one: Telling) => Effect.Effect<void, unknown>) =>
          Effect.zip(of(first), of(second), { concurrent: true })
        yield* both(({ fold }) => fold)
        yield* until(Effect.zipRight(both(tell), Effect.forEach(all, told)), (seen) =>
          seen.flat().every(({ state }) => state === "sent")
        )
        const names = server.mails.map(({ to }) => to[0]).sort()
        expect(names).toEqual(all.flatMap((_, n) => [`one${n}@example.com`, `two${n}@example.com`]).sort())
      })
    )

    it.scoped(
      "§3.6 tries again what the mail server defers, and not what it refuses; the list says why, without the server's words",
      () =>
        Effect.gen(function* () {
          const port = yield* freePort
          yield* MailServer.make(port)
          const names = ["refused@example.com", "later@example.com", "unwanted@example.com"]
          const where = yield* workspaceWith(names.map((name) => mail(name)))
          yield* note(where, "endpoint.failing", (yield* endpoint(where, "https://example.com/hook")).id)
          const alerts = yield* alerting(smtpAt(port), 1)
          yield* alerts.fold
          const seen = yield* until(Effect.zipRight(tell(alerts), told(where)), (all) =>
            all.every(({ state }) => state === "failed")
          )
          expect(seen.map(({ attempts, lastError }) => [attempts, lastError])).toEqual([
            [1, "The mail server refused the recipient (550 5.1.1)"],
            [7, "The mail server deferred the recipient (451 4.3.0)"],
            [1, "The mail server refused the message (554 5.7.1)"]
          ])
        })
    )

    it.scoped(
      "§3.6 sends no password without TLS, trusts no unknown certificate, and says when a login is refused",
      () =>
        Effect.gen(function* () {
          const port = yield* freePort
          yield* MailServer.make(port, "geheim")
          const message = {
            id: "alr_1",
            to: "oncall@example.com",
            fromName: "A",
            subject: "s",
            text: "t",
            html: "h"
          }
          const login = { user: "posthorn", password: Redacted.make("wrong") }
          const refused = yield* sendMail(smtpAt(port, { login }), message)
          const { ca: _, ...untrusting } = smtpAt(port, { login })
          const unknown = yield* sendMail(untrusting, message)
          const said: Array<string> = []
          const plain = createServer((socket: Socket) => {
            socket.write("220 mail\r\n")
            socket
              .on("error", () => undefined)
              .on("data", (data) => {
                said.push(String(data))
                socket.write("250 mail\r\n")
              })
          })
          const plainPort = yield* freePort
          yield* Effect.acquireRelease(
            Effect.async<void>(
              (resume) => void plain.listen(plainPort, "127.0.0.1", () => resume(Effect.void))
            ),
            () => Effect.sync(() => plain.close())
          )
          const without = yield* sendMail(smtpAt(plainPort, { login, host: "127.0.0.1" }), message)
          expect(refused).toEqual({
            kind: "failed",
            error: "The mail server refused the login (535 5.7.8)",
            final: false
          })
          expect(unknown).toEqual({
            kind: "failed",
            error: "TLS with the mail server could not be set up",
            final: false
          })
          expect(without).toMatchObject({ kind: "failed", final: false })
          expect(said.join("")).not.toMatch(/AUTH|MAIL/)
        })
    )

    it.scoped("§3.6 lets names and URLs add no header, no recipient and no markup", () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const server = yield* MailServer.make(port)
        const where = yield* workspaceWith([mail("oncall@example.com")])
        const evil =
          'Evil\r\nBcc: victim@example.com\r\n\r\n<script>alert(1)</script><a href="https://evil.example">x</a>\u202egnp.exe'
        yield* rows`update posthorn.workspaces set name = ${evil} where id = ${where.id}`
        const { id } = yield* endpoint(
          where,
          "https://example.com/%0d%0aBcc:victim@example.com?<img src=x onerror=alert(1)>\"'&"
        )
        yield* rows`update posthorn.endpoints set description = ${evil} where id = ${id}`
        const alerts = yield* alerting(smtpAt(port))
        yield* note(where, "endpoint.failing", id)
        yield* alerts.fold
        yield* tell(alerts)
        yield* server.waitFor(1)
        const [{ message, to }] = server.mails as [MailServer.Mail]
        expect(to).toEqual(["oncall@example.com"])
        const headers = headersOf(message)
        expect(headers.filter((header) => /^(?:b?cc|to):/i.test(header))).toEqual(["To: oncall@example.com"])
        const html = decoded(message.slice(message.indexOf("Content-Type: text/html")))
        expect(html).not.toMatch(/<script|<img|<a href="https:\/\/evil/)
        expect(html).not.toContain("\u202e")
      })
    )

    it.scoped("§3.6 ends with its deadline, whatever the mail server does", () =>
      Effect.gen(function* () {
        const open = new Set<Socket>()
        const tarpit = createServer((socket: Socket) => {
          open.add(socket)
          const dribble = setInterval(() => socket.write("220-wait\r\n"), 20)
          socket
            .on("error", () => undefined)
            .on("close", () => {
              clearInterval(dribble)
              open.delete(socket)
            })
        })
        const port = yield* freePort
        yield* Effect.acquireRelease(
          Effect.async<void>((resume) => void tarpit.listen(port, "127.0.0.1", () => resume(Effect.void))),
          () => Effect.sync(() => tarpit.close())
        )
        const message = {
          id: "alr_1",
          to: "oncall@example.com",
          fromName: "A",
          subject: "s",
          text: "t",
          html: "h"
        }
        const told = yield* sendMail(smtpAt(port, { host: "127.0.0.1" }), message, 300)
        expect(told).toEqual({
          kind: "failed",
          error: "The mail server did not answer in time",
          final: false
        })
        yield* until(
          Effect.sync(() => open.size),
          (size) => size === 0
        )
      })
    )
  })
})
