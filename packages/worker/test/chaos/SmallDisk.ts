/**
 * A file system in memory for PostgreSQL's data that can be full. It is filled by shrinking it to its content, so that every
 * write that needs space fails with ENOSPC, as on a full disk. Null where mounting is not allowed.
 */
import { execFileSync } from "node:child_process"
import { statfsSync } from "node:fs"

export interface SmallDisk {
  readonly fill: () => void
  /** Makes space again. */
  readonly empty: () => void
  readonly remove: () => void
}

/** Far more than a run writes; only what is written takes memory. */
const SIZE = "8g"
/** Free bytes that remain when it is full: a page of memory, or what is written while it is being filled. */
const PAGE = 4_096
const MOST_ROOM = 16 * 1_024 * 1_024

const mount = (...args: ReadonlyArray<string>) => execFileSync("mount", args, { stdio: "ignore" })

/** Mounted over this folder; null where that is not allowed. */
export const makeSmallDisk = (folder: string): SmallDisk | null => {
  try {
    mount("-t", "tmpfs", "-o", `size=${SIZE},mode=755`, "posthorn-chaos", folder)
  } catch {
    return null
  }
  const resize = (size: string) => mount("-o", `remount,size=${size}`, folder)
  const used = () => {
    const { bfree, blocks, bsize } = statfsSync(folder)
    return (blocks - bfree) * bsize
  }
  const remove = () => {
    process.off("exit", remove)
    execFileSync("umount", ["-l", folder], { stdio: "ignore" })
  }
  // An interrupted run must leave nothing mounted.
  process.once("exit", remove)
  return {
    fill: () => {
      // PostgreSQL writes to it meanwhile, and it cannot be made smaller than its content.
      for (let room = PAGE; ; room *= 2)
        try {
          return resize(String(used() + room))
        } catch (error) {
          if (room > MOST_ROOM) throw error
        }
    },
    empty: () => void resize(SIZE),
    remove
  }
}
