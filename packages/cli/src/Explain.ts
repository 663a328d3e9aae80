/** Turns why a start failed into lines for a person: what is wrong and what to do; never a stack. */
import { isDatabaseAway } from "@posthorn/persistence/Statement"
import { Cause, Effect } from "effect"

const KNOWN = new Set([
  "InvalidEnvironment",
  "EmbeddedPostgresError",
  "MigrationFailed",
  "MigrationsPending",
  "DemoFailed",
  "DevInProduction",
  "CannotListen",
  "LocalSecretsUnusable",
  "SecretsUnreadable"
])

const codeOf = (error: unknown): string | undefined => {
  for (
    let at = error;
    typeof at === "object" && at !== null;
    at = (at as { readonly cause?: unknown }).cause
  ) {
    const { code } = at as { readonly code?: unknown }
    if (typeof code === "string") return code
    const inner = (at as { readonly errors?: ReadonlyArray<unknown> }).errors?.[0]
    if (inner !== undefined) return codeOf(inner)
  }
  return undefined
}

const databaseLine = (code: string | undefined) => {
  const why: Record<string, string> = {
    ECONNREFUSED: "nothing listens there",
    ENOTFOUND: "its host name is not known",
    ETIMEDOUT: "it does not answer",
    "28P01": "it refuses the password",
    "28000": "it refuses the user",
    "3D000": "it has no database of that name",
    "42501": "this user may not do what is needed there"
  }
  return `The database of DATABASE_URL cannot be reached: ${why[code ?? ""] ?? `it said ${code ?? "nothing"}`}. Check DATABASE_URL.`
}

/** The lines, or undefined for something nobody foresaw. */
export const explain = (cause: Cause.Cause<unknown>) =>
  Effect.sync((): ReadonlyArray<string> | undefined => {
    if (Cause.isInterruptedOnly(cause)) return undefined
    const error = Cause.squash(cause)
    const tag = (error as { readonly _tag?: string } | null)?._tag
    if (tag !== undefined && KNOWN.has(tag)) return (error as Error).message.split("\n")
    const code = codeOf(error)
    if (code === "EADDRINUSE")
      return ["The port is taken. Set PORT to another one, or stop what listens there."]
    if (code === "EACCES" || code === "EADDRNOTAVAIL")
      return [`Cannot listen there (${code}). Check HOST and PORT.`]
    if (tag === "SqlError" || isDatabaseAway(error)) return [databaseLine(code)]
    return undefined
  })
