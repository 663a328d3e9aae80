/**
 * Checks at the start whether the master keys open the signing secrets of the first thousand endpoints. Source:
 * docs/settings.md (ENCRYPTION_KEY).
 */

import { Effect, Either } from "effect"
import { SecretBox } from "../client/SecretBox.ts"
import { SecretsRepo } from "./SecretsRepo.ts"

const LOOKED_AT = 1_000
const START = { workspaceId: "", endpointId: "" }

export const keyWarning = Effect.gen(function* () {
  const box = yield* SecretBox
  const secrets = yield* SecretsRepo
  const rows = yield* secrets.after(START, LOOKED_AT)
  const opened = rows.filter((row) => Either.isRight(box.open(row, row.secret)))
  if (opened.length === rows.length) return undefined
  const of = rows.length === LOOKED_AT ? `the first ${LOOKED_AT}` : String(rows.length)
  return `ENCRYPTION_KEY opens ${opened.length} of ${of} signing secrets: nothing is sent to endpoints whose secret it does not open. Add the key that these were sealed with, separated by a comma.`
})
