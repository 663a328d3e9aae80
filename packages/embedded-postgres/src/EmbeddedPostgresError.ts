/**
 * Why the embedded PostgreSQL is not running. `message` is the one line the user sees: what is wrong and what to do.
 */
import { Data } from "effect"

/** The embedded PostgreSQL cannot be installed, started or stopped. */
export class EmbeddedPostgresError extends Data.TaggedError("EmbeddedPostgresError")<{
  readonly reason:
    | "FolderUnwritable"
    | "FolderInUse"
    | "PortTaken"
    | "InitFailed"
    | "StartFailed"
    | "Stopped"
    | "UnsupportedPlatform"
  readonly message: string
}> {}

export const folderUnwritable = (folder: string, why: string) =>
  new EmbeddedPostgresError({
    reason: "FolderUnwritable",
    message: `The data folder ${folder} cannot be written (${why}). Make it writable, or set DATA_DIR to another folder.`
  })

export const folderInUse = (folder: string, owner?: number) =>
  new EmbeddedPostgresError({
    reason: "FolderInUse",
    message:
      `Another Posthorn${owner === undefined ? "" : ` (process ${owner})`} is using the data folder ${folder}. ` +
      "Stop it, or set DATA_DIR to another folder."
  })

export const portTaken = (port: number) =>
  new EmbeddedPostgresError({
    reason: "PortTaken",
    message: `Port ${port} is taken: the embedded PostgreSQL cannot listen on it. Free it, or leave the port open.`
  })

export const unsupportedPlatform = (why: string) =>
  new EmbeddedPostgresError({
    reason: "UnsupportedPlatform",
    message: `No embedded PostgreSQL for this machine (${why}). Set DATABASE_URL to a PostgreSQL 15 or newer.`
  })

export const initFailed = (why: string) =>
  new EmbeddedPostgresError({ reason: "InitFailed", message: `PostgreSQL could not create its data: ${why}` })

export const startFailed = (why: string) =>
  new EmbeddedPostgresError({ reason: "StartFailed", message: `PostgreSQL did not start: ${why}` })

export const stopped = (why: string) =>
  new EmbeddedPostgresError({ reason: "Stopped", message: `PostgreSQL stopped while it was needed: ${why}` })

/** What a file system call says, in words. */
export const describe = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code
  const words: Record<string, string> = {
    EACCES: "permission denied",
    EPERM: "not permitted",
    EROFS: "read-only file system",
    ENOSPC: "no space left on the device",
    ENOTDIR: "a file stands where a folder should be"
  }
  return (code && words[code]) ?? (error instanceof Error ? error.message : String(error))
}
