/**
 * `posthorn dev`: everything in one process, with nothing to install: embedded PostgreSQL, migrations, API, console, worker,
 * and a demo whose first webhook is delivered at the start.
 *
 * Unless the environment says otherwise, only this command allows deliveries to this machine. So it is not for production, and
 * warns if the network can reach it. Source: spec §10.
 */
import { resolve as absolute } from "node:path"
import { loopbackTargets } from "@posthorn/domain/AllowedTargets"
import * as EmbeddedPostgres from "@posthorn/embedded-postgres/EmbeddedPostgres"
import { settingsFile } from "@posthorn/embedded-postgres/PostgresFolder"
import * as Database from "@posthorn/persistence/client/Database"
import { migrate } from "@posthorn/persistence/operations/Migrator"
import { Broken } from "@posthorn/worker/Worker"
import { Config, Context, Data, Effect, Layer, Option, Queue, Redacted } from "effect"
import { bold, complain, dim, row, say, timeOfDay } from "../command/Terminal.ts"
import { freePort } from "../roles/ListeningPorts.ts"
import { addressesOf, baseUrlOf, type RoleSettings } from "../roles/RoleSettings.ts"
import { installationOf } from "../roles/Run.ts"
import { telemetryOf } from "../roles/Telemetry.ts"
import { type Settings, settings } from "../settings/Settings.ts"
import { VERSION } from "../Version.ts"
import * as Demo from "./Demo.ts"
import * as DemoReceiver from "./DemoReceiver.ts"
import * as LocalSecrets from "./LocalSecrets.ts"

/** In production no target may lead back to this machine, but dev's own targets do. */
export class DevInProduction extends Data.TaggedError("DevInProduction") {
  override get message() {
    return "NODE_ENV is production, but dev delivers to this machine. Run serve and work instead, or unset NODE_ENV."
  }
}

const refuseProduction = ({ allowedTargets }: Settings) =>
  Effect.flatMap(Effect.option(Config.string("NODE_ENV")), (nodeEnv) =>
    Option.contains(nodeEnv, "production") && Option.isNone(allowedTargets)
      ? Effect.fail(new DevInProduction())
      : Effect.void
  )

const warnOfNetwork = ({ allowedTargets, host }: Settings) =>
  Option.isSome(allowedTargets) || /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host)
    ? Effect.void
    : complain(
        `posthorn: Warning: with HOST=${host} the network can reach this dev instance, which delivers to this machine.`
      )

/** The requested port, or a free one, which the start-up list shows. */
const choosePort = ({ host, port }: Settings) =>
  Effect.flatMap(freePort(port, host), (free) => (free >= 0 ? Effect.succeed(free) : freePort(0, host)))

const database = (given: Settings) =>
  Option.match(given.databaseUrl, {
    onSome: (url) => Effect.succeed({ url, where: "DATABASE_URL", name: "PostgreSQL" }),
    onNone: () =>
      Effect.map(EmbeddedPostgres.start({ dataDir: given.dataDir }), ({ ended, port, url, version }) => ({
        url,
        where: `127.0.0.1:${port} · data in ${given.dataDir}`,
        name: `PostgreSQL ${version}`,
        ended
      }))
  })

const resolve = (
  given: Settings,
  kept: LocalSecrets.Kept,
  url: Redacted.Redacted,
  port: number
): RoleSettings => ({
  settings: given,
  databaseUrl: url,
  encryptionKeys: Option.getOrElse(given.encryptionKeys, () => [
    Redacted.make(new Uint8Array(Buffer.from(kept.encryptionKey, "base64")))
  ]),
  operatorTokens: Option.getOrElse(given.operatorTokens, () => [
    { name: null, token: Redacted.make(kept.operatorToken) }
  ]),
  allowedTargets: Option.getOrElse(given.allowedTargets, () => loopbackTargets),
  port,
  drainSeconds: 0
})

/** The API's address on this machine, whatever BASE_URL is. */
const hereOf = ({ port, settings: { host } }: RoleSettings) => {
  const everywhere = host === "0.0.0.0" || host === "::"
  return `http://${everywhere ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host}:${port}`
}

/** The demo's workspace and token; and, if its receiver is an allowed target, endpoint and first delivery. */
const demonstrate = Effect.fnUntraced(function* (resolved: RoleSettings, kept: LocalSecrets.Kept) {
  const baseUrl = hereOf(resolved)
  const operatorToken = Redacted.value(resolved.operatorTokens[0]!.token)
  if (Option.isSome(resolved.settings.allowedTargets)) {
    const demo = yield* Demo.ensure(baseUrl, { ...kept, operatorToken }, undefined)
    yield* row(
      "Demo workspace",
      `${Demo.SLUG} · no demo endpoint, because DELIVERY_ALLOWED_TARGETS or DELIVERY_ALLOW_HTTP is set`
    )
    return { demo, deliveryId: undefined }
  }
  const receiver = yield* DemoReceiver.make(kept.demo?.receiverPort ?? 0)
  const demo = yield* Demo.ensure(baseUrl, { ...kept, operatorToken }, receiver.port)
  yield* receiver.trust(demo.signingSecret)
  yield* row("Demo workspace", `${Demo.SLUG} · its endpoint is a receiver on 127.0.0.1:${receiver.port}`)
  const { deliveryId, verified } = yield* Demo.firstDelivery(baseUrl, demo, receiver)
  yield* row(
    "First webhook",
    `${deliveryId} · 200 · signature ${verified ? "verified" : "NOT verified"} by the receiver`
  )
  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(receiver.seen), showReceipt)))
  return { demo, deliveryId }
})

const showReceipt = ({ deliveryId, eventType, verified }: DemoReceiver.Receipt) =>
  Effect.flatMap(timeOfDay, (time) =>
    say(
      `  ${dim(time)}  ${verified ? eventType : "signature NOT verified"}  ${dim(`${deliveryId} received`)}`
    )
  )

/** What to do next; last, how to see what was sent to the demo's receiver. */
const showWays = (
  baseUrl: string,
  token: string,
  link: string,
  sql: string,
  deliveryId: string | undefined
) => {
  const workspace = `${baseUrl}/workspaces/${Demo.SLUG}`
  const attempts =
    deliveryId === undefined
      ? ""
      : `
  ${bold("Attempts")}   curl ${workspace}/webhooks/deliveries/${deliveryId}/attempts -H "authorization: Bearer ${token}"`
  return say(`
  ${bold("Console")}    ${link}  ${dim("(opens once, within 10 minutes)")}
  ${bold("Learn")}      docs/first-endpoint.md, ten minutes. Its commands need this line:
             export POSTHORN_URL=${baseUrl} POSTHORN_TOKEN=${token}
  ${bold("Reference")}  ${baseUrl}/reference
  ${bold("MCP")}        claude mcp add --transport http posthorn ${baseUrl}/mcp --header "Authorization: Bearer ${token}"${sql}
  ${bold("Publish")}    curl ${workspace}/events -H "authorization: Bearer ${token}" \\
               -H "content-type: application/json" -d '{"eventType":"invoice.paid","payload":{"id":7}}'${attempts}

  Ctrl-C stops everything; the data stays.
`)
}

/** The URL with the password is only in the file, not on the screen. */
const sqlWay = ({ databaseUrl, dataDir }: Settings) =>
  Option.isSome(databaseUrl)
    ? ""
    : `\n  ${bold("SQL")}        psql "$(node -p "require('${settingsFile(absolute(dataDir))}').url")"`

export const dev = Effect.gen(function* () {
  const given = yield* settings
  yield* refuseProduction(given)
  yield* say(`  ${bold("posthorn")} ${VERSION} · dev`)
  const kept = yield* LocalSecrets.load(given.dataDir)
  const { name, url, where, ...more } = yield* database(given)
  yield* row(name, where)
  const applied = yield* Effect.provide(
    migrate,
    Database.layer({ url, applicationName: "posthorn migrate", maxConnections: 2 })
  )
  yield* row("Migrations", applied.length === 0 ? "up to date" : `${applied.length} applied`)
  const resolved = resolve(given, kept, url, yield* choosePort(given))
  const built = yield* Layer.build(Layer.provide(installationOf(resolved), telemetryOf(given, "dev")))
  const moved = resolved.port === given.port || given.port === 0 ? "" : ` (port ${given.port} is taken)`
  yield* row("API, console, worker", `${addressesOf(resolved)}${moved}`)
  if (Option.isNone(given.allowedTargets))
    yield* row("Receivers", "http and this machine are allowed, in dev only")
  yield* warnOfNetwork(given)
  const { deliveryId, demo } = yield* demonstrate(resolved, kept)
  yield* LocalSecrets.write(given.dataDir, { ...kept, demo })
  const link = yield* Demo.consoleLink(hereOf(resolved), demo.token)
  yield* showWays(baseUrlOf(resolved), demo.token, link, sqlWay(given), deliveryId)
  const broken = Context.get(built, Broken)
  return yield* "ended" in more && more.ended !== undefined ? Effect.raceFirst(more.ended, broken) : broken
}).pipe(Effect.scoped)
