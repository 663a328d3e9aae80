/**
 * Changing the master key: seals every signing secret anew with the first key of ENCRYPTION_KEY.
 *
 * In batches, in the order of the keys, and a secret that the newest key sealed is passed over: it can be stopped at any
 * time and run again. A rotation that comes between wins. Services need the new key (and the old one) before it runs;
 * afterwards the old one can go. What no key opens is left as it is, counted, and makes the command fail.
 * Source: decision §1 (ENCRYPTION_KEY), §7 (Secrets).
 */
import * as Database from "@posthorn/persistence/Database"
import { SecretBox, SecretUnreadable, make as secretBox } from "@posthorn/persistence/SecretBox"
import { type SealedRow, SecretsRepo } from "@posthorn/persistence/SecretsRepo"
import { Data, Effect, Layer, Option } from "effect"
import { requireCurrent, required } from "./Commands.ts"
import { settings } from "./Settings.ts"
import { say } from "./Terminal.ts"

const BATCH = 500

export interface ReEncrypted {
  /** Endpoints looked at. */
  readonly endpoints: number
  /** Those whose secrets are sealed anew. */
  readonly sealed: number
  /** Those with a secret that no key opens. */
  readonly unreadable: ReadonlyArray<string>
}

export class SecretsUnreadable extends Data.TaggedError("SecretsUnreadable")<{
  readonly endpointIds: ReadonlyArray<string>
}> {
  override get message() {
    const shown = this.endpointIds.slice(0, 10).join(", ")
    return `No key of ENCRYPTION_KEY opens the secrets of ${this.endpointIds.length} endpoints (${shown}): add the key they were sealed with, or rotate them.`
  }
}

type Outcome = "current" | "sealed" | "unreadable"

/** Seals the secrets of every endpoint with the newest key. */
export const reEncryptAll: Effect.Effect<ReEncrypted, never, SecretBox | SecretsRepo> = Effect.gen(
  function* () {
    const box = yield* SecretBox
    const secrets = yield* SecretsRepo

    const anew = (row: SealedRow, sealed: Buffer) =>
      Effect.try({
        try: () => (box.isCurrent(sealed) ? sealed : box.seal(row, box.open(row, sealed))),
        catch: (error) => error
      }).pipe(
        Effect.catchAll((error) =>
          error instanceof SecretUnreadable ? Effect.fail(error) : Effect.die(error)
        )
      )

    const reSeal = (row: SealedRow): Effect.Effect<Outcome> =>
      Effect.gen(function* () {
        const secret = yield* anew(row, row.secret)
        const previous = row.previousSecret === null ? null : yield* anew(row, row.previousSecret)
        if (secret === row.secret && previous === row.previousSecret) return "current"
        return (yield* secrets.replace(row, secret, previous)) ? "sealed" : "current"
      }).pipe(Effect.catchTag("SecretUnreadable", () => Effect.succeed("unreadable" as const)))

    const counts = { endpoints: 0, sealed: 0, unreadable: [] as Array<string> }
    let rows: ReadonlyArray<SealedRow> = []
    do {
      const past = rows[rows.length - 1] ?? { workspaceId: "", endpointId: "" }
      rows = yield* secrets.after(past, BATCH)
      for (const row of rows) {
        const outcome = yield* reSeal(row)
        counts.endpoints++
        if (outcome === "sealed") counts.sealed++
        if (outcome === "unreadable") counts.unreadable.push(row.endpointId)
      }
    } while (rows.length === BATCH)
    return counts
  }
)

/** `posthorn re-encrypt`. */
export const reEncrypt = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL", "ENCRYPTION_KEY"])
  yield* requireCurrent(given)
  const database = Database.layer({
    url: Option.getOrThrow(given.databaseUrl),
    applicationName: "posthorn re-encrypt",
    maxConnections: 1
  })
  const live = Layer.merge(
    SecretsRepo.Default.pipe(Layer.provide(database)),
    Layer.succeed(SecretBox, secretBox(Option.getOrThrow(given.encryptionKeys)))
  )
  const { endpoints, sealed, unreadable } = yield* Effect.provide(reEncryptAll, live)
  yield* say(`${endpoints} endpoints looked at, the secrets of ${sealed} sealed with the newest key.`)
  if (unreadable.length > 0) return yield* new SecretsUnreadable({ endpointIds: unreadable })
})
