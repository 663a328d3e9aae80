/**
 * The data folder of the embedded PostgreSQL: `postgres/` is the cluster, `postgres.json` (mode 0600) its superuser's
 * password, the port it listened on last, and both as a URL for `psql`. What cannot be read or written is one clear line.
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { Effect, Redacted } from "effect"
import { describe, folderUnwritable } from "./EmbeddedPostgresError.ts"
import type { Binaries } from "./internal/PostgresBinaries.ts"
import { type Account, run } from "./internal/Subprocess.ts"

export interface Folder {
  readonly root: string
  readonly cluster: string
  readonly account: Account | undefined
  readonly binaries: Binaries
}

export interface Settings {
  readonly password: Redacted.Redacted
  readonly port: number | undefined
}

export const clusterOf = (root: string) => join(root, "postgres")

export const isInitialised = (cluster: string) => fs.existsSync(join(cluster, "PG_VERSION"))

/** All changes to the folder are made here. */
export const touch = <A>(root: string, action: () => A) =>
  Effect.try({ try: action, catch: (error) => folderUnwritable(root, describe(error)) })

/** `mkdir -p` that says what is wrong: Node's own reports a read-only file system as a missing folder. */
export const makeFolder = (path: string) => {
  if (fs.existsSync(path)) return
  makeFolder(dirname(path))
  fs.mkdirSync(path, { mode: 0o711 })
}

export const openFolder = (root: string) =>
  touch(root, () => {
    makeFolder(root)
    fs.opendirSync(root).closeSync()
    fs.accessSync(root, fs.constants.W_OK | fs.constants.X_OK)
    return fs.statSync(clusterOf(root), { throwIfNoEntry: false })?.uid
  }).pipe(
    Effect.filterOrFail(
      (owner) => owner === undefined || process.getuid?.() === 0 || process.getuid?.() === owner,
      (owner) => folderUnwritable(root, `its database belongs to another user, uid ${owner}`)
    )
  )

/**
 * How PostgreSQL's account names its working directory: by its path, or, if a parent is closed to the account (a checkout under
 * /root), by Linux's link to the working directory.
 */
export const nameForAccount = (folder: string, account: Account | undefined) =>
  account === undefined
    ? Effect.succeed(folder)
    : run("/bin/sh", ["-c", 'cd "$1"', "sh", folder], { account, cwd: "/" }).pipe(
        Effect.map((outcome) => (outcome.ok ? folder : "/proc/self/cwd"))
      )

export const settingsFile = (root: string) => join(root, "postgres.json")

/** Undefined if the file is missing or damaged: then a new password is set and a new port is chosen. */
export const readSettings = (root: string): Settings | undefined => {
  try {
    const { password, port } = JSON.parse(fs.readFileSync(settingsFile(root), "utf8"))
    if (typeof password !== "string" || password === "") return undefined
    return { password: Redacted.make(password), port: Number.isInteger(port) ? port : undefined }
  } catch {
    return undefined
  }
}

export const urlOf = (password: Redacted.Redacted, port: number) =>
  Redacted.make(`postgresql://postgres:${Redacted.value(password)}@127.0.0.1:${port}/postgres`)

export const writeSettings = (root: string, { password, port }: Settings) =>
  touch(root, () => {
    const draft = `${settingsFile(root)}.new`
    const url = port === undefined ? undefined : Redacted.value(urlOf(password, port))
    fs.writeFileSync(draft, `${JSON.stringify({ password: Redacted.value(password), port, url })}\n`, {
      mode: 0o600
    })
    fs.renameSync(draft, settingsFile(root))
  })

export const newPassword = () => Redacted.make(randomBytes(24).toString("base64url"))
