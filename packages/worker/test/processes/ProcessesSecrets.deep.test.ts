/**
 * No secret of a request leaves where it is sealed: `serve` and `work` run as in production, use every kind of secret, in good and
 * in bad days, and then everything that they wrote, told or answered is searched for each of them.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { certificate } from "@posthorn/testkit/Certificates"
import { startWorker } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import { type Behaviour, make as makeReceiver } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
import { Setting } from "../Setting.ts"
import { collector } from "./Collector.ts"
import { serveAt, workspaceAt } from "./ServeProcess.ts"
import { within } from "./Story.ts"

/** With characters that URLs, JSON and base64 spell differently. */
const SECRETS = {
  header: 'geheim/Kopf+"1"&ü'.replace("ü", "u"),
  second: "geheim/Kopf+2=again",
  password: "geheim/Passwort+?3",
  token: "geheim.Zeichen~4_abc",
  replaced: "geheim.Zeichen~5_def",
  refused: "geheim.Zeichen~6_ghi",
  signing: "geheim/Unterschrift+7",
  client: "geheim/Klient+8",
  access: "geheim.Zugang~9_jkl",
  // A line of the private key's base64.
  key: certificate("valid").key.split("\n")[2]!
}

/** How bytes may be spelt, alone or within something longer. */
const encoded = (text: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(text)
  // Base64 of something longer has one of three forms of it, but for the characters at its edges.
  const base64 = [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "")
    return padded.slice(before === 0 ? 0 : 4, -1)
  })
  const urlSafe = base64.map((one) => one.replaceAll("+", "-").replaceAll("/", "_"))
  return [bytes.toString("hex"), ...base64, ...urlSafe]
}

/** Token endpoints get an id and a secret that are URL-encoded first. */
const spellings = (secret: string): ReadonlyArray<string> => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  ...encoded(secret),
  ...encoded(encodeURIComponent(secret))
]

const found = (where: string, text: string) =>
  Object.entries(SECRETS).flatMap(([name, secret]) =>
    spellings(secret)
      .filter((spelling) => text.toLowerCase().includes(spelling.toLowerCase()))
      .map((spelling) => `${name} in ${where}, as ${spelling}`)
  )

it("the search finds a secret however it is spelt", () => {
  const { password } = SECRETS
  const basic = Buffer.from(`me:${password}`)
  for (const text of [
    `x${password}y`,
    JSON.stringify({ password }),
    `?a=${encodeURIComponent(password)}`,
    basic.toString("base64"),
    basic.toString("hex"),
    Buffer.from(`{"a":"${password}"}`).toString("base64url")
  ])
    expect(found("a text", text).length, text).toBeGreaterThan(0)
})

/** Every row of every table, as text; bytes are in hex. */
const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const names = yield* sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = 'posthorn' and table_type = 'BASE TABLE'`
  return yield* Effect.forEach(names, ({ name }) =>
    Effect.map(
      sql<{
        rows: string
      }>`select coalesce(string_agg(r::text, ' '), '') as rows from posthorn.${sql(name)} r`,
      ([all]) => ({ where: `table ${name}`, text: all!.rows })
    )
  )
})

it.scopedLive(
  "§2.9 no secret of a request is in any table, line, metric, span, answer or report, in any spelling",
  () =>
    Effect.gen(function* () {
      const reports = mkdtempSync(join(tmpdir(), "posthorn-reports-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(reports, { recursive: true })))
      const spans = yield* collector
      const environment = {
        LOG_LEVEL: "debug",
        DELIVERY_RETRY_DELAY: "10 millis",
        OTEL_EXPORTER_OTLP_ENDPOINT: spans.url,
        NODE_OPTIONS: `--report-on-signal --report-directory=${reports}`
      }
      const echo: Behaviour = (answer) => {
        answer.reply(503, answer.request.headers.flat().join(" "), { Server: SECRETS.header })
      }
      const token: Behaviour = (answer) => {
        const body = { access_token: SECRETS.access, token_type: "Bearer", expires_in: 3600 }
        answer.reply(200, JSON.stringify(body), { "Content-Type": "application/json" })
      }
      const receiver = yield* makeReceiver({ behaviours: { "/echo": echo, "/token": token } })
      const secure = yield* makeReceiver({ tls: "valid" })
      const [port, metricsPort] = [yield* freePort, yield* freePort]
      const serve = yield* serveAt(port, environment)
      const api = yield* workspaceAt(port, "acme")
      const work = yield* startWorker({ ...environment, METRICS_PORT: String(metricsPort) })
      const answers: Array<string> = []
      const ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
        Effect.tap(api(method, path, body, headers), (reply) => answers.push(JSON.stringify(reply)))

      const headers = [{ name: "x-api-key", value: SECRETS.header, secret: true }]
      const basic = { kind: "basic", username: "me", password: SECRETS.password }
      const bearer = (token: string) => ({ authentication: { kind: "bearer", token } })
      const create = (path: string, request: object, more: object = {}) =>
        ask(
          "POST",
          "/webhooks",
          { url: receiver.url(path), eventTypes: ["*"], request, ...more },
          { "idempotency-key": `create-${path}` }
        )
      const good = yield* create("/ok", { headers, authentication: basic })
      const bad = yield* create(
        "/echo",
        { headers, authentication: basic },
        { policy: { retries: { kind: "none" } } }
      )
      yield* create("/other", bearer(SECRETS.token), { signingSecret: SECRETS.signing })
      const oauth2 = {
        kind: "oauth2",
        tokenUrl: receiver.url("/token"),
        clientId: "me",
        clientSecret: SECRETS.client
      }
      yield* create("/with-token", { authentication: oauth2, signatures: [{ scheme: "standard_v1" }] })
      const { cert, key } = certificate("valid")
      const mtls = { kind: "mtls", certificate: cert, privateKey: key }
      const certified = yield* ask("POST", "/webhooks", {
        url: secure.url("/certified", "localhost"),
        eventTypes: ["*"],
        request: { authentication: mtls },
        policy: { retries: { kind: "none" } }
      })
      yield* ask("PATCH", `/webhooks/${certified.body.id}`, {
        request: { authentication: { ...mtls, privateKey: certificate("other-ca").key } }
      })
      yield* ask("PATCH", `/webhooks/${good.body.id}`, {
        request: { headers: [{ ...headers[0], value: SECRETS.second }], authentication: basic }
      })
      yield* ask("PATCH", `/webhooks/${good.body.id}`, { request: bearer(SECRETS.replaced) })
      // Refused: another origin, a name that is not allowed, a body that is no JSON.
      yield* ask("PATCH", `/webhooks/${bad.body.id}`, { url: receiver.url("/ok", "localhost") })
      yield* ask("PATCH", `/webhooks/${good.body.id}`, {
        request: {
          ...bearer(SECRETS.refused),
          headers: [{ name: "host", value: SECRETS.refused, secret: true }]
        }
      })
      for (let n = 0; n < 3; n++) yield* ask("POST", "/events", { eventType: "invoice.paid", payload: { n } })
      yield* ask("POST", `/webhooks/${good.body.id}/test-event`, { waitSeconds: 5 })
      yield* ask("POST", `/webhooks/${bad.body.id}/rotate-secret`)
      yield* receiver.waitFor(14)
      yield* within(25, rows`select from posthorn.queue`, (left) => left.length === 0)
      for (const path of [
        "/webhooks",
        `/webhooks/${good.body.id}`,
        `/webhooks/${bad.body.id}`,
        `/webhooks/${bad.body.id}/diagnosis`,
        "/webhooks/deliveries",
        "/audit-events",
        "/notifications",
        "/events"
      ])
        yield* ask("GET", path)
      const attempts = yield* rows<{
        body: string | null
      }>`select response_body as body from posthorn.attempts where http_status = 503`
      yield* within(
        30,
        Effect.sync(() => spans.spans().map(({ name }) => name)),
        (names) => names.includes("attempt") && names.includes("updateWebhookEndpoint")
      )
      const scraped = yield* Effect.promise(() =>
        Promise.all(
          [`http://127.0.0.1:${metricsPort}/metrics`, `http://127.0.0.1:${port}/metrics`].map(async (url) =>
            (await fetch(url)).text()
          )
        )
      )
      serve.signal("SIGUSR2")
      work.signal("SIGUSR2")
      yield* within(
        25,
        Effect.sync(() => readdirSync(reports)),
        (files) => files.length === 2
      )

      // What was received shows that the secrets were really used.
      const received = receiver.received.map((one) => `${one.headers} ${one.body}`).join(" ")
      for (const name of ["header", "password", "token", "replaced", "client", "access"] as const)
        expect(
          found("requests", received).some((one) => one.startsWith(name)),
          name
        ).toBe(true)
      expect(attempts.length).toBeGreaterThan(0)
      const places = [
        ...(yield* tables),
        { where: "serve's log", text: serve.log() },
        { where: "work's log", text: work.log() },
        { where: "answers", text: answers.join(" ") },
        { where: "metrics", text: scraped.join(" ") },
        { where: "spans", text: JSON.stringify(spans.got) },
        ...readdirSync(reports).map((file) => ({
          where: file,
          text: readFileSync(join(reports, file), "utf8")
        }))
      ]
      expect(places.length).toBeGreaterThan(20)
      expect(places.flatMap(({ text, where }) => found(where, text))).toEqual([])
    }).pipe(Effect.provide(Setting)),
  120_000
)
