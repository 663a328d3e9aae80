/**
 * The secrets of `dev`, kept beside its database so that the next start finds the same installation: operator token, encryption
 * key, and the demo's token and signing secret. One file, readable only by its owner.
 *
 * An unusable file is never replaced: without its key the secrets in the database could not be opened.
 */
import { randomBytes } from "node:crypto"
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, folderUnwritable } from "@posthorn/embedded-postgres/EmbeddedPostgresError"
import { clusterOf, makeFolder } from "@posthorn/embedded-postgres/PostgresFolder"
import { Data, Effect } from "effect"

export interface Demo {
  readonly token: string
  readonly endpointId: string
  readonly signingSecret: string
  readonly receiverPort: number
}

export interface Kept {
  readonly operatorToken: string
  readonly encryptionKey: string
  readonly demo?: Demo
}

/** The message is the one line the user sees: what is wrong and what to do. */
export class LocalSecretsUnusable extends Data.TaggedError("LocalSecretsUnusable")<{
  readonly message: string
}> {}

const unreadable = (file: string, why: string) =>
  new LocalSecretsUnusable({
    message: `${file} cannot be read (${why}). It holds the encryption key of this data folder: restore the file, or move the data folder away to begin anew.`
  })

const lost = (file: string) =>
  new LocalSecretsUnusable({
    message: `${file} is missing, and with it the encryption key of the database beside it. Restore the file, or set DATA_DIR to another folder to begin anew.`
  })

const fileOf = (dataDir: string) => join(dataDir, "dev.json")

const keptIn = (text: string): Kept | undefined => {
  try {
    const kept = JSON.parse(text)
    return typeof kept?.operatorToken === "string" && typeof kept.encryptionKey === "string"
      ? kept
      : undefined
  } catch {
    return undefined
  }
}

/** The stored secrets; undefined only if there is no file and no database that needs it. */
export const find = (dataDir: string) => {
  const file = fileOf(resolve(dataDir))
  return Effect.try({
    try: () => readFileSync(file, "utf8"),
    catch: (cause) => cause as NodeJS.ErrnoException
  }).pipe(
    // Not the parser's message, which would repeat the file's content.
    Effect.map((text) => keptIn(text) ?? unreadable(file, "it is damaged")),
    Effect.catchAll((error) => {
      if (error.code === "ENOTDIR") return Effect.fail(folderUnwritable(dataDir, describe(error)))
      if (error.code !== "ENOENT") return Effect.succeed(unreadable(file, describe(error)))
      return Effect.succeed(existsSync(clusterOf(resolve(dataDir))) ? lost(file) : undefined)
    }),
    Effect.flatMap((found) =>
      found instanceof LocalSecretsUnusable ? Effect.fail(found) : Effect.succeed(found)
    )
  )
}

/** Written atomically, so that no crash leaves half a file. */
export const write = (dataDir: string, kept: Kept) =>
  Effect.try({
    try: () => {
      const draft = `${fileOf(dataDir)}.new`
      makeFolder(resolve(dataDir))
      writeFileSync(draft, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 })
      chmodSync(draft, 0o600)
      renameSync(draft, fileOf(dataDir))
    },
    catch: (cause) => folderUnwritable(dataDir, describe(cause))
  })

/** The secrets, made at the first start. */
export const load = (dataDir: string) =>
  Effect.flatMap(find(dataDir), (kept) => {
    if (kept !== undefined) return Effect.succeed(kept)
    const fresh: Kept = {
      operatorToken: `pho_${randomBytes(32).toString("hex")}`,
      encryptionKey: randomBytes(32).toString("base64")
    }
    return Effect.as(write(dataDir, fresh), fresh)
  })
