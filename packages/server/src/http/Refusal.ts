/** Refusals after which the connection ends: what is still to come on it belongs to no request. */
import type { Answer } from "../Calls.ts"

/** The same answer, with another reason if one is given; the connection ends with it. */
export const closing = (answer: Answer, detail?: string): Answer => ({
  ...answer,
  headers: { ...answer.headers, connection: "close" },
  body: detail === undefined ? answer.body : JSON.stringify({ ...JSON.parse(answer.body), detail })
})
