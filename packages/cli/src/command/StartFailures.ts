/** Explains to a person why a start failed: what is wrong and what to do; never a stack. */
import { NoPrimary, shownAddress } from "@posthorn/persistence/client/Hosts"
import { isDatabaseAway } from "@posthorn/persistence/client/Statement"
import { Cause, Effect } from "effect"

const KNOWN = new Set([
  "InvalidEnvironment",
  "EmbeddedPostgresError",
  "MigrationFailed",
  "MigrationsPending",
  "DemoFailed",
  "DevInProduction",
  "CannotListen",
  "ConsoleLinkRefused",
  "LocalSecretsUnusable",
  "MetricsPortUnusable",
  "PoolerInBetween",
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

/** The messages of the error and of its causes. */
const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.message} ${messageOf(error.cause)}` : ""

const UNKNOWN_AUTHORITY =
  "nobody known vouches for its certificate: name its authority with sslrootcert=/path/to/ca.pem"

/** Only the text of PostgreSQL's error shows that pg_hba.conf has no entry for connections without TLS. */
const wantsTls = (message: string) => /no pg_hba\.conf entry.*no encryption/.test(message)

const WHY: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host name",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet: check the clocks of both machines",
  CERT_REVOKED: "its certificate was revoked",
  CERT_SIGNATURE_FAILURE: "its certificate is damaged or forged",
  CERT_UNTRUSTED: UNKNOWN_AUTHORITY,
  INVALID_CA: "what sslrootcert names, or its server sent, is no certificate of an authority",
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "it ends the connection at once",
  EAI_AGAIN: "the name server does not answer",
  EHOSTUNREACH: "no route leads there",
  ENETUNREACH: "no route leads there",
  ENOTFOUND: "its host name is not known",
  ETIMEDOUT: "it does not answer",
  "28P01": "it refuses the password",
  "28000": "it refuses the user",
  "3D000": "it has no database of that name",
  "42501": "this user may not do what is needed there",
  "53300":
    "it has no connection left for this user: raise max_connections, or the limit of the role or the database",
  "57P03": "it is starting, or shutting down"
}

const reasonOf = (code: string | undefined) => WHY[code ?? ""] ?? `it said ${code ?? "nothing"}`

const noPrimaryIn = (error: unknown): NoPrimary | undefined =>
  error instanceof NoPrimary ? error : error instanceof Error ? noPrimaryIn(error.cause) : undefined

/** Why one of several hosts was not used. */
export const shownHost = (asked: NoPrimary["asked"][number]): string =>
  `${shownAddress(asked)}: ${asked.writes ? "accepts writes" : asked.error === null ? "a standby" : reasonOf(codeOf(asked.error))}`

const hostsLine = ({ asked }: NoPrimary) =>
  `The database of DATABASE_URL cannot be reached: none of its hosts accepts writes (${asked.map(shownHost).join("; ")}). Check DATABASE_URL.`

const databaseLine = (code: string | undefined, message: string) => {
  if (message.includes("does not support SSL connections"))
    return "The database of DATABASE_URL cannot be reached: it does not speak TLS. Switch `ssl` on there, or take sslmode out of DATABASE_URL."
  if (wantsTls(message))
    return "The database of DATABASE_URL cannot be reached: it refuses connections without TLS. Add sslmode=verify-full to DATABASE_URL."
  return `The database of DATABASE_URL cannot be reached: ${reasonOf(code)}. Check DATABASE_URL.`
}

/** The lines; undefined for an unforeseen error. */
export const explain = (cause: Cause.Cause<unknown>) =>
  Effect.sync((): ReadonlyArray<string> | undefined => {
    if (Cause.isInterruptedOnly(cause)) return undefined
    const error = Cause.squash(cause)
    const tag = (error as { readonly _tag?: string } | null)?._tag
    const noPrimary = noPrimaryIn(error)
    if (noPrimary !== undefined) return [hostsLine(noPrimary)]
    if (tag !== undefined && KNOWN.has(tag)) return (error as Error).message.split("\n")
    const code = codeOf(error)
    if (code === "EADDRINUSE") {
      const [, port] = /:(\d+)\s*$/.exec(messageOf(error)) ?? []
      return [`Port ${port} is taken. Set PORT to another one, or stop what listens there.`]
    }
    if (code === "EACCES" || code === "EADDRNOTAVAIL")
      return [`Cannot listen there (${code}). Check HOST and PORT.`]
    if (tag === "SqlError" || isDatabaseAway(error)) return [databaseLine(code, messageOf(error))]
    return undefined
  })
