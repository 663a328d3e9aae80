/**
 * DATABASE_URL, checked before anything connects.
 *
 * With TLS the server's certificate is always verified, by authority and by name: `sslmode=require`, `prefer` and
 * `verify-ca` mean `verify-full` here, as they do in the driver, which would print a page about it. Nothing switches the
 * check off. Source: decision §1.
 */
import { accessSync, constants } from "node:fs"
import { Either, Redacted } from "effect"

const VERIFYING = new Set(["prefer", "require", "verify-ca", "verify-full"])

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

export const databaseUrl = (raw: string): Either.Either<Redacted.Redacted, string> => {
  const url = URL.canParse(raw) ? new URL(raw) : undefined
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol))
    return Either.left("is not a PostgreSQL URL")
  const mode = url.searchParams.get("sslmode")
  const problem = problemOfMode(mode) ?? problemOfFiles(url)
  if (problem !== undefined) return Either.left(problem)
  if (mode === null || mode === "disable" || mode === "verify-full") return Either.right(Redacted.make(raw))
  url.searchParams.set("sslmode", "verify-full")
  return Either.right(Redacted.make(url.href))
}
