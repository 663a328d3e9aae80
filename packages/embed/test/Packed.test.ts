/** What a platform installs: one module below 5 KB gzipped that loads anywhere, with types. Chromium runs it in `console/test`. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { expect, it } from "@effect/vitest"
import { ended, installPacked } from "@posthorn/testkit/Packed"
import { Effect } from "effect"

const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url))

it.scopedLive(
  "§11 the packed component is one module below 5 KB gzipped, with types, that servers can import",
  () =>
    Effect.gen(function* () {
      const installed = yield* installPacked("embed")
      installed.write(
        "consumer.ts",
        `import { PosthornConsole } from "@posthorn/embed"
export const found: PosthornConsole = document.createElement("posthorn-console")
found.src = "https://hooks.example.com/console/embed"
// @ts-expect-error a link is text
found.src = 1
`
      )
      const module = readFileSync(join(installed.folder, "node_modules/@posthorn/embed/lib/embed/index.js"))

      const imported = yield* ended(
        installed.node(["--input-type=module", "--eval", 'import "@posthorn/embed"'])
      )
      const strict = [
        "--strict",
        "--noEmit",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--types",
        "",
        "--lib",
        "es2023,dom"
      ]
      const types = yield* ended(installed.node([TSC, ...strict, "consumer.ts"]))

      expect(imported).toEqual({ code: 0, out: "", err: "" })
      expect(types).toEqual({ code: 0, out: "", err: "" })
      expect(module.toString()).not.toMatch(/^import/m)
      expect(gzipSync(module).length).toBeLessThan(5 * 1024)
      process.stdout.write(`component: ${(gzipSync(module).length / 1024).toFixed(1)} KiB gzipped\n`)
    })
)
