/** Causes of a rejection that concern signing secrets: never shown, rotated and not yet stored, or stored too late. */
import type { Evidence, SeenChange } from "../DiagnosisEvidence.ts"
import type { Cause } from "./Cause.ts"
import { type NextStep, person, rotate } from "./Steps.ts"

const DAY_MS = 86_400_000

export const rotated = ({ action }: SeenChange) => action === "webhook.secret_rotated"

/** When the secret that a rotation replaced stops signing. */
export const graceEnd = ({ at }: SeenChange) => new Date(Date.parse(at) + DAY_MS).toISOString()

/** A secret is seen when a rotation shows it, or when it is made: on request, or because it was taken over. */
export const neverSeen = ({ changes, olderChanges }: Evidence) =>
  !olderChanges && !changes.some(({ fields }) => fields.includes("signingSecret"))

/** Rotating is harmless only in this case: nobody can have the secret that it replaces. */
const showOne = rotate(
  "Shows a secret for the first time. Nobody can have the one it replaces. Give it to the user, who stores it in the receiver."
)

export const storeFirst: ReadonlyArray<NextStep> = [
  showOne,
  person("Store the secret that the rotation shows in the receiver, then send a test event.")
]

export const unseen = (answered: string): Cause => ({
  summary: `${answered}, and nobody has seen this endpoint's signing secret yet: it was made unseen. So the receiver cannot have it.`,
  because: "No rotation is on record, and nothing was ever delivered.",
  steps: storeFirst
})

const AGAIN = "Only if that secret is lost: it shows a new one, which the receiver must get."

const inGrace = (answered: string, rotation: SeenChange): Cause => ({
  summary: `${answered} since the signing secret was rotated: it verifies with another secret.`,
  because: `The secret was rotated at ${rotation.at}, and nothing was rejected before. Until ${graceEnd(rotation)} deliveries carry a signature of the new secret and one of the old: the receiver looks at the first only, or has neither.`,
  steps: [
    person(
      `Store the secret that the rotation showed in the receiver, and let it accept any entry of webhook-signature. Do not rotate again before ${graceEnd(rotation)}: that drops the old secret at once.`
    )
  ]
})

const graceOver = (answered: string, rotation: SeenChange, since: string): Cause => ({
  summary: `${answered} since ${since >= graceEnd(rotation) ? "the old signing secret ended" : "the signing secret was rotated"}: it still verifies with the old one.`,
  because: `The secret was rotated at ${rotation.at}; the old one signed until ${graceEnd(rotation)}, and nothing was rejected before.`,
  steps: [person("Store the secret that the rotation showed in the receiver."), rotate(AGAIN)]
})

/** A rejection after a rotation; `since` is the first failure. */
export const afterRotation = (answered: string, rotation: SeenChange, since: string, now: string): Cause =>
  now < graceEnd(rotation) ? inGrace(answered, rotation) : graceOver(answered, rotation, since)
