/**
 * A file system in memory that can be full: for PostgreSQL's data. It is filled by making it as small as what lies on it, so
 * that every write that needs room fails with ENOSPC, as on a full disk. Where mounting is not allowed there is none.
 */
import { execFileSync } from "node:child_process"
import { statfsSync } from "node:fs"

export interface SmallDisk {
  readonly fill: () => void
  /** There is room again. */
  readonly empty: () => void
  readonly remove: () => void
}

/** Nobody comes near it: what is written is what it takes of the machine's memory. */
const SIZE = "8g"
/** Room that it keeps when it is full, in bytes: a page of memory, or what is written while it is filled. */
const PAGE = 4_096
const MOST_ROOM = 16 * 1_024 * 1_024

const mount = (...args: ReadonlyArray<string>) => execFileSync("mount", args, { stdio: "ignore" })

/** Over this folder; null where that is not allowed. */
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
  // Whoever gives the run up leaves nothing mounted.
  process.once("exit", remove)
  return {
    fill: () => {
      // It is written to meanwhile, and cannot be made smaller than what lies on it.
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
