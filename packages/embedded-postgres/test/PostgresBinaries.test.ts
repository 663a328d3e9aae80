import * as fs from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { accountFor } from "../src/internal/PostgresAccount.ts"
import { locate, prepareBinaries } from "../src/internal/PostgresBinaries.ts"
import { folder, isRoot, recall, remember, withServer } from "./EmbeddedPostgresKit.ts"

describe("the programs", () => {
  /** The platform's package as npm leaves it without install scripts: the libraries' short names are missing. */
  const unlinkedPackage = Effect.gen(function* () {
    const native = yield* locate(`${process.platform}-${process.arch}`)
    const home = join(yield* folder, "..")
    const copy = join(home, "package", "native")
    fs.cpSync(native, copy, {
      recursive: true,
      filter: (path) => !path.endsWith(".a") && !fs.lstatSync(path).isSymbolicLink()
    })
    const version = `0.0.0-${process.pid}`
    fs.writeFileSync(join(copy, "..", "package.json"), JSON.stringify({ version }))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() =>
        fs.rmSync(`/var/tmp/posthorn-postgres-${version}-${process.getuid?.()}`, {
          recursive: true,
          force: true
        })
      )
    )
    return { home, native: copy }
  })

  it.scopedLive("run although the package's install script did not", () =>
    Effect.gen(function* () {
      const { home, native } = yield* unlinkedPackage
      fs.chmodSync(home, 0o755)

      const binaries = yield* prepareBinaries(native, yield* accountFor(""))

      expect(binaries.version).toMatch(/^\d+\.\d+$/)
      expect(binaries.initdb.startsWith(native)).toBe(true)
    })
  )

  it.scopedLive("run from a copy when root's package is in a folder that nobody else may enter", (context) =>
    Effect.gen(function* () {
      if (!isRoot) return context.skip()
      const { home, native } = yield* unlinkedPackage
      fs.chmodSync(home, 0o700)

      const binaries = yield* prepareBinaries(native, yield* accountFor(""))

      expect(binaries.version).toMatch(/^\d+\.\d+$/)
      expect(binaries.initdb.startsWith(native)).toBe(false)
    })
  )

  it.scopedLive("serve root's data in a folder that nobody else may enter", (context) =>
    Effect.gen(function* () {
      if (!isRoot) return context.skip()
      const dataDir = yield* folder
      fs.chmodSync(join(dataDir, ".."), 0o700)

      yield* withServer({ dataDir }, (server) => remember(server.url))

      expect(yield* withServer({ dataDir }, (server) => recall(server.url))).toBe(42)
    })
  )
})
