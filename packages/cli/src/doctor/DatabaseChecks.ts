/**
 * What `posthorn doctor` asks the database. The checks are independent: one that fails leaves the others their answers. Nothing
 * here changes anything.
 */

import { failureInWords } from "@posthorn/domain/FailureWords"
import {
  describeOffset,
  describeSlowness,
  MOST_OFF_MS,
  SLOW_MS,
  WARN_MS
} from "@posthorn/persistence/client/DatabaseClock"
import { ask, hostsOf } from "@posthorn/persistence/client/Hosts"
import { keepsSessions } from "@posthorn/persistence/client/KeepsSessions"
import { SecretBox, make as secretBox } from "@posthorn/persistence/client/SecretBox"
import { sqlProblemOf } from "@posthorn/persistence/client/Statement"
import { notWriting } from "@posthorn/persistence/client/WriteRefusals"
import * as DoctorChecks from "@posthorn/persistence/operations/DoctorChecks"
import { keyWarning } from "@posthorn/persistence/operations/KeyCheck"
import { standing } from "@posthorn/persistence/operations/Migrator"
import { SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { writeTemporarily } from "@posthorn/persistence/operations/WriteProbe"
import { reasonOf } from "@posthorn/telemetry/Trouble"
import { Cause, Effect, Option, Redacted } from "effect"
import { shownHost } from "../command/StartFailures.ts"
import { RUN_CONNECTIONS, SERVE_CONNECTIONS, WORK_CONNECTIONS } from "../roles/Connections.ts"
import { aheadBy } from "../roles/StartChecks.ts"
import type { Settings } from "../settings/Settings.ts"
import { type Finding, note, warning, well, wrong } from "./Finding.ts"

const OLDEST = 150_000

const server = Effect.map(DoctorChecks.serverFacts, (facts): ReadonlyArray<Finding> => {
  const where = `PostgreSQL ${facts.version}, database ${facts.database} at ${facts.address ?? "a socket"}`
  return [
    facts.versionNumber < OLDEST
      ? wrong("database", "version", `${where}: Posthorn needs version 15 or newer.`)
      : facts.isStandby
        ? wrong("database", "standby", `${where} is a standby: point DATABASE_URL at the primary.`)
        : facts.isReadOnly
          ? wrong("database", "read_only", `${where} accepts no writes: default_transaction_read_only is on.`)
          : well("database", "database", where),
    facts.tls !== null
      ? well("encryption", "encryption", facts.tls)
      : facts.isLocal
        ? well("encryption", "encryption", "none, and none needed: the database is on this machine")
        : wrong(
            "encryption",
            "plain",
            "none: add ?sslmode=verify-full to DATABASE_URL (docs/operate.md, TLS)."
          ),
    facts.fsync === "on" && facts.synchronousCommit !== "off"
      ? well("durability", "durability", `fsync on, synchronous_commit ${facts.synchronousCommit}`)
      : wrong(
          "durability",
          "not_durable",
          `fsync ${facts.fsync}, synchronous_commit ${facts.synchronousCommit}: events that were acknowledged can be lost. Switch both on.`
        ),
    facts.isSuperuser
      ? note(
          "role",
          "superuser",
          `${facts.role} is a superuser, who can rewrite history: see docker/roles.sql for two with less.`
        )
      : well("role", "role", facts.role)
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
        asked.error === null
          ? well("hosts", "host", shownHost(asked))
          : wrong("hosts", "host_away", `${shownHost(asked)}.`)
      ),
      ...(all.filter(({ writes }) => writes).length > 1
        ? [
            wrong(
              "hosts",
              "two_primaries",
              "more than one accepts writes: they are not servers of one replicated database."
            )
          ]
        : [])
    ]
  )
}

/** A table that goes with its transaction. */
const room = writeTemporarily.pipe(
  Effect.as(well("disk", "disk", "has room")),
  Effect.catchTag("SqlError", (error) => {
    const { code } = sqlProblemOf(error)
    return notWriting(code) === "disk_full"
      ? Effect.succeed(
          wrong(
            "disk",
            "disk_full",
            "full: nothing is published or recorded. Free space (docs/operate.md, Full disk)."
          )
        )
      : code === "42501"
        ? Effect.succeed(
            note("disk", "disk_unknown", "cannot be told: this role may not make temporary tables")
          )
        : Effect.fail(error)
  })
)

const migrations = Effect.map(standing, ({ ahead, missing }) =>
  missing.length > 0
    ? wrong("migrations", "migrations_missing", `${missing.length} missing: run posthorn migrate.`)
    : ahead > 0
      ? note("migrations", "migrations_ahead", `${aheadBy(ahead)}: replace it soon.`)
      : well("migrations", "migrations", "up to date")
)

const rights = Effect.map(DoctorChecks.missingRights, (missing) =>
  missing.length === 0
    ? well("rights", "rights", "all that serve and work need")
    : wrong(
        "rights",
        "rights_missing",
        `missing: ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ", …" : ""}. See docker/roles.sql.`
      )
)

const sessions = Effect.map(keepsSessions, (kept) =>
  kept
    ? well("sessions", "sessions", "a session stays one: fit for work and serve")
    : wrong(
        "sessions",
        "pooler",
        "behind a pooler that gives each transaction another session: serve can live with it, work needs a direct connection."
      )
)

/** Of several limits the tightest counts. What other programs use is taken off; what Posthorn uses is what it needs. */
const connections = Effect.map(DoctorChecks.connections, (limits) => {
  const { by, left } = limits.reduce((tightest, one) => (one.left < tightest.left ? one : tightest))
  return left >= RUN_CONNECTIONS
    ? well("connections", "connections", `room for ${left}`)
    : warning(
        "connections",
        "few_connections",
        `${by} leaves ${left}: one serve needs ${SERVE_CONNECTIONS} and one work ${WORK_CONNECTIONS}, and one more cancels statements.`
      )
})

/** Below these a timeout of the role or the database ends what is alive. 0 is no limit. */
const SHORTEST_MS = {
  idle_session_timeout: 60_000,
  idle_in_transaction_session_timeout: 10_000,
  statement_timeout: 12_000
} as const

const timeouts = Effect.map(
  DoctorChecks.timeouts,
  (found): ReadonlyArray<Finding> =>
    found
      .filter(({ milliseconds, name }) => milliseconds > 0 && milliseconds < SHORTEST_MS[name])
      .map(({ milliseconds, name }) =>
        warning(
          "timeouts",
          `${name}_short`,
          `${name} is ${milliseconds / 1000} s for this role and database: at least ${SHORTEST_MS[name] / 1000} s, or 0.`
        )
      )
)

const clocks = Effect.map(DoctorChecks.clock, ({ aheadMs }) => {
  const apart = Math.abs(aheadMs)
  const said = `this machine's is ${describeOffset(-aheadMs)}. Set both by NTP: receivers refuse signatures that are 5 minutes off`
  return apart < WARN_MS
    ? well("clocks", "clocks", `${apart} ms apart`)
    : apart <= MOST_OFF_MS
      ? warning("clocks", "clock_off", `${said}.`)
      : wrong("clocks", "clock_far_off", `${said}, so work starts no attempt.`)
})

/** One of four answers may be quick: a connection is made for the first, and this machine may be busy. */
const answers = Effect.map(
  Effect.repeat(DoctorChecks.clock, { times: 3, until: ({ roundTripMs }) => roundTripMs < SLOW_MS }),
  ({ roundTripMs }) =>
    roundTripMs < SLOW_MS
      ? well("answers", "answers", `${roundTripMs} ms`)
      : warning("answers", "answers_slow", describeSlowness(roundTripMs))
)

const keys = (given: Settings) =>
  Option.match(given.encryptionKeys, {
    onNone: () =>
      Effect.succeed(note("keys", "no_key", "ENCRYPTION_KEY is not set: serve and work need it.")),
    onSome: (given) =>
      keyWarning.pipe(
        Effect.provide(SecretsRepo.Default),
        Effect.provideService(SecretBox, secretBox(given)),
        Effect.map((problem) =>
          problem === undefined
            ? well("keys", "keys", "open all signing secrets")
            : wrong("keys", "secrets_unreadable", problem)
        )
      )
  })

const workers = Effect.map(
  DoctorChecks.whoWorks,
  ({ foreignSessions, free, members, shardCount }): ReadonlyArray<Finding> => {
    const held = shardCount - free.length
    const count = `${members} running, ${held} of ${shardCount} parts of the queue held`
    return [
      members === 0
        ? note("workers", "no_worker", "none is running: nothing is delivered until one is (posthorn work).")
        : held < shardCount
          ? note("workers", "shards_free", `${count}; the rest within seconds, or see foreign sessions`)
          : well("workers", "workers", count),
      ...foreignSessions.map(({ application, pid, role, shards }) =>
        wrong(
          "foreign",
          "foreign_session",
          `session ${pid} of ${role} (${application}) holds ${shards} parts of the queue and is no worker: end it with pg_terminate_backend(${pid}).`
        )
      )
    ]
  }
)

const SHOWN = 5

const receivers = Effect.map(
  DoctorChecks.unreachable,
  (found): ReadonlyArray<Finding> =>
    found.length === 0
      ? [well("receivers", "receivers", "none is known to be out of reach")]
      : [
          ...found
            .slice(0, SHOWN)
            .map(({ detail, id, reason, url }) =>
              note(
                "receivers",
                "receiver_away",
                `${id} ${new URL(url).host}: ${failureInWords(reason, null, detail)}`
              )
            ),
          ...(found.length > SHOWN
            ? [note("receivers", "receivers_away", `and ${found.length - SHOWN} more`)]
            : [])
        ]
)

type Findings = Finding | ReadonlyArray<Finding>

/** For up to twelve answers of a database far away, such as those of a new connection. */
const PATIENCE = "30 seconds"

const settled = <E, R>(about: string, question: Effect.Effect<Findings, E, R>) =>
  question.pipe(
    Effect.map((answer): ReadonlyArray<Finding> => [answer].flat()),
    Effect.timeout(PATIENCE),
    Effect.catchAllCause((cause) =>
      Effect.succeed([wrong(about, "unanswered", `cannot be told: ${reasonOf(Cause.squash(cause))}`)])
    )
  )

/** All checks of a database that answers. */
export const examine = (given: Settings) =>
  Effect.gen(function* () {
    const first = [...(yield* settled("database", server))]
    if (first.length === 1) return first
    const writes = first[0]!.verdict === "well"
    first.push(...(yield* hosts(given)))
    const schema = yield* settled("migrations", migrations)
    const more = [
      yield* settled("clocks", clocks),
      yield* settled("answers", answers),
      yield* settled("connections", connections),
      yield* settled("timeouts", timeouts)
    ]
    // A server that only reads can neither notify nor write.
    if (writes) more.push(yield* settled("disk", room), yield* settled("sessions", sessions))
    const isDirect =
      writes && more.flat().every(({ about, verdict }) => about !== "sessions" || verdict === "well")
    if (schema[0]?.verdict === "well") {
      more.push(yield* settled("rights", rights), yield* settled("keys", keys(given)))
      // Listing the workers needs a separate session.
      if (isDirect) more.push(yield* settled("workers", workers))
      more.push(yield* settled("receivers", receivers))
    }
    return [...first, ...schema, ...more.flat()]
  })
