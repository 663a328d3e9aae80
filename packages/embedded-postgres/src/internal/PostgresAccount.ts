/**
 * The account under which PostgreSQL runs. PostgreSQL refuses to run as root, so a Posthorn started by root uses an existing
 * account: the owner of existing data, else `postgres`, else `nobody`. No account is ever created.
 */
import { readFileSync, statSync } from "node:fs"
import { Effect } from "effect"
import { startFailed } from "../EmbeddedPostgresError.ts"
import type { Account } from "./Subprocess.ts"

const lookUp = (name: string): Account | undefined => {
  const entry = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
    .find((fields) => fields[0] === name)
  return entry && { uid: Number(entry[2]), gid: Number(entry[3]) }
}

const ownerOf = (folder: string): Account | undefined => {
  const stat = statSync(folder, { throwIfNoEntry: false })
  return stat && stat.uid !== 0 ? { uid: stat.uid, gid: stat.gid } : undefined
}

export const accountFor = (cluster: string) =>
  Effect.suspend(() => {
    if (process.getuid?.() !== 0) return Effect.succeed(undefined)
    const account = ownerOf(cluster) ?? lookUp("postgres") ?? lookUp("nobody")
    return account
      ? Effect.succeed(account)
      : startFailed(
          "it does not run as root, and this system has neither an account postgres nor nobody. " +
            "Start Posthorn as an ordinary user, or set DATABASE_URL."
        )
  })
