/**
 * What `dev` keeps beside its database, so that a second start finds the same installation: operator token, encryption
 * key, and the demo's token and signing secret. One file, readable by its owner only.
 */
import { randomBytes } from "node:crypto"
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect } from "effect"
import { describe, folderUnwritable } from "./EmbeddedPostgresError.ts"
import { makeFolder } from "./internal/PostgresFolder.ts"

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

const fileOf = (dataDir: string) => join(dataDir, "dev.json")

const read = (dataDir: string): Kept | undefined => {
  try {
    return JSON.parse(readFileSync(fileOf(dataDir), "utf8"))
  } catch {
    return undefined
  }
}

export const write = (dataDir: string, kept: Kept) =>
  Effect.try({
    try: () => {
      makeFolder(resolve(dataDir))
      writeFileSync(fileOf(dataDir), `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 })
      chmodSync(fileOf(dataDir), 0o600)
    },
    catch: (cause) => folderUnwritable(dataDir, describe(cause))
  })

/** What is kept, made on the first start. */
export const load = (dataDir: string) =>
  Effect.suspend(() => {
    const kept = read(dataDir)
    if (kept !== undefined) return Effect.succeed(kept)
    const fresh: Kept = {
      operatorToken: `pho_${randomBytes(32).toString("hex")}`,
      encryptionKey: randomBytes(32).toString("base64")
    }
    return Effect.as(write(dataDir, fresh), fresh)
  })
