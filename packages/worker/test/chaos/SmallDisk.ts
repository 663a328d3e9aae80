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
/** Room that it keeps, in bytes: a page of memory. */
const PAGE = 4_096

const mount = (...args: ReadonlyArray<string>) => execFileSync("mount", args, { stdio: "ignore" })

/** Over this folder; null where that is not allowed. */
export const makeSmallDisk = (folder: string): SmallDisk | null => {
  try {
    mount("-t", "tmpfs", "-o", `size=${SIZE},mode=755`, "posthorn-chaos", folder)
  } catch {
    return null
  }
  const resize = (size: string) => mount("-o", `remount,size=${size}`, folder)
  return {
    fill: () => {
      const { bfree, blocks, bsize } = statfsSync(folder)
      resize(String((blocks - bfree) * bsize + PAGE))
    },
    empty: () => resize(SIZE),
    remove: () => execFileSync("umount", ["-l", folder], { stdio: "ignore" })
  }
}
