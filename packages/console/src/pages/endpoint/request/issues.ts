/** What the server finds wrong with a request profile, by place. */
import { Problem } from "../../../api/client.ts"

interface Issue {
  readonly path: string
  readonly message: string
}

/** The message at a place below `/request`, such as `headers/0/value`. */
export type At = (place: string) => string | undefined

/** Places that a field of the form shows. */
const SHOWN = /^\/request\/(?:headers\/\d+\/(?:name|value)|authentication\/\w+|signatures\/\d+\/\w+)$/

const issuesOf = (error: unknown): ReadonlyArray<Issue> =>
  error instanceof Problem && Array.isArray(error.facts.issues)
    ? (error.facts.issues as ReadonlyArray<Issue>)
    : []

export const issuesAt = (error: unknown): At => {
  const issues = issuesOf(error)
  return (place) => issues.find(({ path }) => path === `/request/${place}`)?.message
}

/** What no field shows: the error itself, or a hint that it stands above. */
export const elsewhere = (error: unknown): unknown => {
  // Of the request as a whole it says that null would do.
  const issues = issuesOf(error).filter(({ path }) => path !== "/request")
  if (issues.length === 0 || !issues.every(({ path }) => SHOWN.test(path))) return error
  return "Not saved: the fields above say what to change."
}
