/**
 * `posthorn doctor`: checks everything that this installation depends on, says what is wrong and what to do, and changes
 * nothing.
 *
 * It reads the environment that `serve` or `work` would get: run it where they run. It exits with 1 if something is wrong; a
 * mere note is no failure. Each check is independent of the others.
 */

import * as Database from "@posthorn/persistence/client/Database"
import * as DedicatedConnection from "@posthorn/persistence/client/DedicatedConnection"
import { ask, hostsOf } from "@posthorn/persistence/client/Hosts"
import { SecretBox, make as secretBox } from "@posthorn/persistence/client/SecretBox"
import * as Checkup from "@posthorn/persistence/operations/Checkup"
import { keyWarning } from "@posthorn/persistence/operations/KeyCheck"
import { standing } from "@posthorn/persistence/operations/Migrator"
import { SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { reasonOf } from "@posthorn/telemetry/Trouble"
import { Cause, Effect, Option, Redacted } from "effect"
import { explain, shownHost } from "./Explain.ts"
import { aheadBy } from "./Production.ts"
import { type Settings, settings } from "./settings/Settings.ts"
import { dim, green, red, say } from "./Terminal.ts"

/** `well`: as it should be; `note`: worth knowing; `wrong`: must be fixed. */
interface Finding {
  readonly verdict: "well" | "note" | "wrong"
  readonly about: string
  readonly text: string
}

const well = (about: string, text: string): Finding => ({ verdict: "well", about, text })
const note = (about: string, text: string): Finding => ({ verdict: "note", about, text })
const wrong = (about: string, text: string): Finding => ({ verdict: "wrong", about, text })

const MARKS = { well: green("✓"), note: dim("–"), wrong: red("✗") }

const show = ({ about, text, verdict }: Finding) => say(`  ${MARKS[verdict]} ${about.padEnd(14)} ${text}`)

const OLDEST = 150_000

const server = Effect.map(Checkup.serverFacts, (facts): ReadonlyArray<Finding> => {
  const where = `PostgreSQL ${facts.version}, database ${facts.database} at ${facts.address ?? "a socket"}`
  return [
    facts.versionNumber < OLDEST
      ? wrong("database", `${where}: Posthorn needs version 15 or newer.`)
      : facts.isStandby
        ? wrong("database", `${where} is a standby: point DATABASE_URL at the primary.`)
        : well("database", where),
    facts.tls !== null
      ? well("encryption", facts.tls)
      : facts.isLocal
        ? well("encryption", "none, and none needed: the database is on this machine")
        : wrong("encryption", "none: add ?sslmode=verify-full to DATABASE_URL (docs/operate.md, TLS)."),
    facts.fsync === "on" && facts.synchronousCommit !== "off"
      ? well("durability", `fsync on, synchronous_commit ${facts.synchronousCommit}`)
      : wrong(
          "durability",
          `fsync ${facts.fsync}, synchronous_commit ${facts.synchronousCommit}: events that were acknowledged can be lost. Switch both on.`
        ),
    facts.isSuperuser
      ? note(
          "role",
          `${facts.role} is a superuser, who can rewrite history: see docker/roles.sql for two with less.`
        )
      : well("role", facts.role)
  ]
})

/** With several hosts, each is checked: a dead standby would otherwise show only when the primary fails, which is too late. */
const hosts = (given: Settings) => {
  const urls = Option.match(given.databaseUrl, {
    onNone: () => [],
    onSome: (url) => hostsOf(Redacted.value(url)) ?? []
  })
  if (urls.length < 2) return Effect.succeed([])
  return Effect.map(
    Effect.promise(() => Promise.all(urls.map(ask))),
    (all): ReadonlyArray<Finding> => [
      ...all.map((asked) =>
        asked.error === null ? well("hosts", shownHost(asked)) : wrong("hosts", `${shownHost(asked)}.`)
      ),
      ...(all.filter(({ writes }) => writes).length > 1
        ? [wrong("hosts", "more than one accepts writes: they are not servers of one replicated database.")]
        : [])
    ]
  )
}

const migrations = Effect.map(standing, ({ ahead, missing }) =>
  missing.length > 0
    ? wrong("migrations", `${missing.length} missing: run posthorn migrate.`)
    : ahead > 0
      ? note("migrations", `${aheadBy(ahead)}: replace it soon.`)
      : well("migrations", "up to date")
)

const rights = Effect.map(Checkup.missingRights, (missing) =>
  missing.length === 0
    ? well("rights", "all that serve and work need")
    : wrong(
        "rights",
        `missing: ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ", …" : ""}. See docker/roles.sql.`
      )
)

const sessions = Effect.map(Checkup.keepsSessions, (kept) =>
  kept
    ? well("sessions", "a session stays one: fit for work and serve")
    : wrong(
        "sessions",
        "behind a pooler that gives each transaction another session: serve can live with it, work needs a direct connection."
      )
)

const APART_MS = 2_000

const clocks = Effect.map(Checkup.clockAhead, (ahead) =>
  Math.abs(ahead) < APART_MS
    ? well("clocks", `${Math.abs(ahead)} ms apart`)
    : wrong(
        "clocks",
        `the database's is ${Math.abs(ahead) / 1000} s ${ahead > 0 ? "ahead of" : "behind"} this machine's. Set both by NTP: receivers refuse signatures that are 5 minutes off.`
      )
)

const keys = (given: Settings) =>
  Option.match(given.encryptionKeys, {
    onNone: () => Effect.succeed(note("keys", "ENCRYPTION_KEY is not set: serve and work need it.")),
    onSome: (given) =>
      keyWarning.pipe(
        Effect.provide(SecretsRepo.Default),
        Effect.provideService(SecretBox, secretBox(given)),
        Effect.map((warning) =>
          warning === undefined ? well("keys", "open all signing secrets") : wrong("keys", warning)
        )
      )
  })

const workers = Effect.map(
  Checkup.whoWorks,
  ({ foreignSessions, free, members, shardCount }): ReadonlyArray<Finding> => {
    const held = shardCount - free.length
    const count = `${members} running, ${held} of ${shardCount} parts of the queue held`
    return [
      members === 0
        ? note("workers", "none is running: nothing is delivered until one is (posthorn work).")
        : held < shardCount
          ? note("workers", `${count}; the rest within seconds, or see foreign sessions`)
          : well("workers", count),
      ...foreignSessions.map(({ application, pid, role, shards }) =>
        wrong(
          "foreign",
          `session ${pid} of ${role} (${application}) holds ${shards} parts of the queue and is no worker: end it with pg_terminate_backend(${pid}).`
        )
      )
    ]
  }
)

const REASONS: Readonly<Record<string, string>> = {
  tls_failed: "the certificate is not trusted or has expired",
  dns_failed: "the name cannot be resolved",
  connection_failed: "nobody answers there"
}
const SHOWN = 5

const receivers = Effect.map(
  Checkup.unreachable,
  (found): ReadonlyArray<Finding> =>
    found.length === 0
      ? [well("receivers", "none is known to be out of reach")]
      : [
          ...found
            .slice(0, SHOWN)
            .map(({ id, reason, url }) =>
              note("receivers", `${id} ${new URL(url).host}: ${REASONS[reason]}`)
            ),
          ...(found.length > SHOWN ? [note("receivers", `and ${found.length - SHOWN} more`)] : [])
        ]
)

type Findings = Finding | ReadonlyArray<Finding>

const settled = <E, R>(about: string, question: Effect.Effect<Findings, E, R>) =>
  question.pipe(
    Effect.map((answer): ReadonlyArray<Finding> => [answer].flat()),
    Effect.timeout("10 seconds"),
    Effect.catchAllCause((cause) =>
      Effect.succeed([wrong(about, `cannot be told: ${reasonOf(Cause.squash(cause))}`)])
    )
  )

/** All checks of a database that answers. */
const examine = (given: Settings) =>
  Effect.gen(function* () {
    const first = [...(yield* settled("database", server))]
    if (first.length === 1) return first
    first.push(...(yield* hosts(given)))
    const schema = yield* settled("migrations", migrations)
    const more = [yield* settled("clocks", clocks), yield* settled("sessions", sessions)]
    const isDirect = more.flat().every(({ about, verdict }) => about !== "sessions" || verdict === "well")
    if (schema[0]?.verdict === "well") {
      more.push(yield* settled("rights", rights), yield* settled("keys", keys(given)))
      // Listing the workers needs a separate session.
      if (isDirect) more.push(yield* settled("workers", workers))
      more.push(yield* settled("receivers", receivers))
    }
    return [...first, ...schema, ...more.flat()]
  })

export const doctor = Effect.gen(function* () {
  const given = yield* settings
  yield* say("")
  const findings = Option.isNone(given.databaseUrl)
    ? [wrong("database", "DATABASE_URL is not set.")]
    : yield* examine(given).pipe(
        Effect.provide(DedicatedConnection.layer),
        Effect.provide(
          Database.layer({
            url: given.databaseUrl.value,
            applicationName: "posthorn doctor",
            maxConnections: 2
          })
        ),
        Effect.catchAllCause((cause) =>
          Effect.map(explain(cause), (lines) => [
            wrong("database", (lines ?? [Cause.pretty(cause)]).join(" "))
          ])
        )
      )
  yield* Effect.forEach(findings, show, { discard: true })
  const count = findings.filter(({ verdict }) => verdict === "wrong").length
  yield* say(
    count === 0 ? `\n  All is well.\n` : `\n  ${count} ${count === 1 ? "thing" : "things"} to mend.\n`
  )
  if (count > 0) yield* Effect.sync(() => (process.exitCode = 1))
})
