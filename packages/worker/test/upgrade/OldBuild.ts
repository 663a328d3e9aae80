/** Another commit of this repository, cloned, installed and bundled by its own scripts, as users have it. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"

const run = promisify(execFile)

const INSTALL = `
  const { ensureInstalled } = await import("./scripts/install.mjs")
  ensureInstalled({ toRun: true })`

export interface OldBuild {
  /** The bundled command. */
  readonly file: string
  readonly commit: string
}

/** Removed with the scope. */
export const oldBuild = (root: string, ref: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = mkdtempSync(join(tmpdir(), "posthorn-old-"))
      const { stdout } = await run("git", ["-C", root, "rev-parse", "--verify", `${ref}^{commit}`])
      const commit = stdout.trim()
      await run("git", ["clone", "--quiet", "--no-checkout", "--shared", root, folder])
      await run("git", ["-C", folder, "checkout", "--quiet", "--detach", commit])
      await run(process.execPath, ["--input-type=module", "--eval", INSTALL], { cwd: folder })
      await run(process.execPath, ["scripts/bundle.mjs"], { cwd: folder })
      return { folder, commit, file: join(folder, "build", "posthorn.mjs") }
    }),
    ({ folder }) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
