/** The last release of this repository in git: the newest tag `vX.Y.Z` among the ancestors of what is checked out. */
import { execFileSync } from "node:child_process"
import type { File } from "./Judge.ts"

const FOLDER = "packages/persistence/migrations"

const git = (root: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })

/** Undefined before the first release. */
export const lastRelease = (root: string): string | undefined => {
  const reachable = git(root, "tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort=-version:refname")
  return reachable.split("\n").find((tag) => /^v\d+\.\d+\.\d+$/.test(tag))
}

/** The migration files at a tag or commit. */
export const migrationsAt = (root: string, ref: string): ReadonlyArray<File> =>
  git(root, "ls-tree", "--name-only", `${ref}:${FOLDER}`)
    .split("\n")
    .filter((name) => name.endsWith(".sql"))
    .map((name) => ({ name, sql: git(root, "show", `${ref}:${FOLDER}/${name}`) }))
