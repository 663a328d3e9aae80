/**
 * DATABASE_URL, checked before anything connects.
 *
 * With TLS the server's certificate is always verified, by authority and name: `sslmode=require`, `prefer` and `verify-ca` mean
 * `verify-full`, as in the driver, whose long warning about it is avoided. Nothing switches the check off. Several hosts are
 * the servers of one replicated database. Source: spec §10.
 */
import { accessSync, constants } from "node:fs"
import { hostsOf } from "@posthorn/persistence/client/Hosts"
import { Either, Redacted } from "effect"

const VERIFYING = new Set(["prefer", "require", "verify-ca", "verify-full"])
const WRITING = new Set(["any", "primary", "read-write"])

const problemOfFiles = (url: URL) => {
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const file = url.searchParams.get(name)
    if (file === null) continue
    try {
      accessSync(file, constants.R_OK)
    } catch {
      return `names the ${name} ${file}, which cannot be read`
    }
  }
  return undefined
}

const problemOfMode = (mode: string | null) =>
  mode === null || mode === "disable" || VERIFYING.has(mode)
    ? undefined
    : mode === "no-verify"
      ? "has sslmode=no-verify, but certificates are always verified: name the server's authority with sslrootcert=/path/to/ca.pem"
      : `has sslmode=${mode}, but must have verify-full or disable`

const SESSION = /[?&]target_session_attrs=([^&#]*)/
const MODE = /([?&]sslmode=)[^&#]*/

/** Posthorn writes: it has no use for a standby. */
const problemOfSession = (wanted: string | undefined) =>
  wanted === undefined || WRITING.has(wanted)
    ? undefined
    : `has target_session_attrs=${wanted}, but Posthorn always needs the server that accepts writes: leave it out`

/** `postgresql://user@/app?host=/folder/of/socket`, as libpq takes it. A URL with credentials needs a host, which the folder replaces. */
const SOCKET = /^(postgres(?:ql)?:\/\/[^/?#]*@)(\/[^?#]*\?(?:[^#]*&)?host=(?:\/|%2f))/i

export const databaseUrl = (text: string): Either.Either<Redacted.Redacted, string> => {
  // Pasted text may end with a space, which would become part of the database's name.
  const raw = text.trim().replace(SOCKET, "$1localhost$2")
  const hosts = hostsOf(raw)
  if (hosts === null)
    return Either.left(
      "is not a PostgreSQL URL: percent-encode special characters of user and password (@ is %40, / %2F, # %23, ? %3F)"
    )
  const url = new URL(hosts[0]!)
  const mode = url.searchParams.get("sslmode")
  const problem = problemOfSession(SESSION.exec(raw)?.[1]) ?? problemOfMode(mode) ?? problemOfFiles(url)
  if (problem !== undefined) return Either.left(problem)
  const verified = mode !== null && VERIFYING.has(mode) ? raw.replace(MODE, "$1verify-full") : raw
  return Either.right(Redacted.make(verified))
}
