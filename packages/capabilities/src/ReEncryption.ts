/**
 * Changing the master key: re-encrypts every signing secret, the secrets of requests, and the Slack URLs of alerts, with the newest key.
 *
 * It works in batches, by key, and skips secrets that the newest key sealed, so it can be stopped at any time and run again. A
 * concurrent rotation wins. Secrets that no key opens are left unchanged and reported.
 * Source: spec §3.3 and docs/settings.md (ENCRYPTION_KEY).
 */
import { SecretBox, type SecretRow } from "@posthorn/persistence/client/SecretBox"
import { type SealedAlerts, type SealedRow, SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { Effect } from "effect"

const BATCH = 500

interface ReEncrypted {
  readonly endpoints: number
  readonly sealed: number
  /** Endpoints, and workspaces with alerts, with a secret that no key opens. */
  readonly unreadable: ReadonlyArray<string>
}

type Outcome = "current" | "sealed" | "unreadable"

export const reEncryptAll = Effect.gen(function* () {
  const box = yield* SecretBox
  const secrets = yield* SecretsRepo

  const anew = (row: SecretRow, sealed: Buffer) =>
    box.isCurrent(sealed)
      ? Effect.succeed(sealed)
      : Effect.map(box.open(row, sealed), (secret) => box.seal(row, secret))

  const reSeal = (row: SealedRow): Effect.Effect<Outcome> =>
    Effect.gen(function* () {
      const secret = yield* anew(row, row.secret)
      const previousSecret = row.previousSecret === null ? null : yield* anew(row, row.previousSecret)
      const { endpointId, requestSecrets: before, workspaceId } = row
      const requestSecrets =
        before === null ? null : yield* anew({ workspaceId, endpointId, of: "request" }, before)
      if (secret === row.secret && previousSecret === row.previousSecret && requestSecrets === before)
        return "current"
      return (yield* secrets.replace(row, { secret, previousSecret, requestSecrets })) ? "sealed" : "current"
    }).pipe(Effect.catchTag("SecretUnreadable", () => Effect.succeed("unreadable" as const)))

  const reSealAlerts = (row: SealedAlerts): Effect.Effect<Outcome> =>
    Effect.gen(function* () {
      const sealed = yield* anew({ workspaceId: row.workspaceId, of: "alerts" }, row.alertSecrets)
      if (sealed === row.alertSecrets) return "current"
      return (yield* secrets.replaceAlerts(row, sealed)) ? "sealed" : "current"
    }).pipe(Effect.catchTag("SecretUnreadable", () => Effect.succeed("unreadable" as const)))

  const unreadable: Array<string> = []
  let [endpoints, sealed] = [0, 0]
  let rows: ReadonlyArray<SealedRow> = []
  do {
    const past = rows[rows.length - 1] ?? { workspaceId: "", endpointId: "" }
    rows = yield* secrets.after(past, BATCH)
    for (const row of rows) {
      const outcome = yield* reSeal(row)
      endpoints++
      if (outcome === "sealed") sealed++
      if (outcome === "unreadable") unreadable.push(row.endpointId)
    }
  } while (rows.length === BATCH)
  let alerting: ReadonlyArray<SealedAlerts> = []
  do {
    alerting = yield* secrets.alertsAfter(alerting.at(-1)?.workspaceId ?? "", BATCH)
    for (const row of alerting)
      if ((yield* reSealAlerts(row)) === "unreadable") unreadable.push(row.workspaceId)
  } while (alerting.length === BATCH)
  return { endpoints, sealed, unreadable } satisfies ReEncrypted
}).pipe(Effect.withSpan("ReEncryption.reEncryptAll"))
