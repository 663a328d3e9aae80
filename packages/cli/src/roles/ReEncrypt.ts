/**
 * `posthorn re-encrypt`: re-encrypts every signing secret with the first key of ENCRYPTION_KEY, and prints the counts.
 *
 * Before it runs, put the new key in front of the old one in all services; remove the old one afterwards. It may be stopped and
 * run again. It fails if no key opens some of the secrets. Source: spec §10.
 */
import { reEncryptAll } from "@posthorn/capabilities/ReEncryption"
import * as Database from "@posthorn/persistence/client/Database"
import { SecretBox, make as secretBox } from "@posthorn/persistence/client/SecretBox"
import { SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { Data, Effect, Layer, Option } from "effect"
import { counted } from "../command/Counted.ts"
import { say } from "../command/Terminal.ts"
import { settings } from "../settings/Settings.ts"
import { requireCurrent, required } from "./StartChecks.ts"

const SHOWN = 10

/** No key of ENCRYPTION_KEY opens some of the secrets. */
export class SecretsUnreadable extends Data.TaggedError("SecretsUnreadable")<{
  /** Of endpoints, and of workspaces with alerts. */
  readonly ids: ReadonlyArray<string>
}> {
  override get message() {
    const shown = this.ids.slice(0, SHOWN).join(", ")
    const more = this.ids.length > SHOWN ? ", …" : ""
    return `No key of ENCRYPTION_KEY opens the secrets of ${shown}${more}: add the key they were sealed with, or rotate them; of a workspace (wsp_), put the Slack URLs of its alerts again.`
  }
}

const outcome = (endpoints: number, sealed: number, unreadable: number) =>
  endpoints === 0
    ? "There are no endpoints yet: nothing to seal."
    : sealed === 0 && unreadable === 0
      ? `${counted(endpoints, "endpoint")} looked at: all secrets were sealed with the newest key already. Older keys may be taken out of ENCRYPTION_KEY.`
      : `${counted(endpoints, "endpoint")} looked at; the secrets of ${sealed} are now sealed with the newest key.`

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
  yield* say(outcome(endpoints, sealed, unreadable.length))
  if (unreadable.length > 0) return yield* new SecretsUnreadable({ ids: unreadable })
})
