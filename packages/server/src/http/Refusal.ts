/** Refusals that say another status or reason than their tag has: those of the connection, not of an operation. */
import type { Answer } from "../Calls.ts"

/** The same problem with these members; the connection ends with it. */
export const amended = (
  answer: Answer,
  members: { readonly status?: number; readonly detail?: string }
): Answer => ({
  ...answer,
  status: members.status ?? answer.status,
  headers: { ...answer.headers, connection: "close" },
  body: JSON.stringify({ ...JSON.parse(answer.body), ...members })
})

/** A body that did not arrive in time. */
export const timedOut = (answer: Answer) => amended(answer, { status: 408 })
