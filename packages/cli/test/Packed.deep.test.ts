import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { installPacked } from "@posthorn/testkit/Packed"
import { Effect } from "effect"

/** The packages whose licences are in a file of the installed command. */
const noticed = (folder: string, file: string) => {
  const text = readFileSync(join(folder, "node_modules", "posthorn", "bin", file), "utf8")
  return [...text.matchAll(/^(\S+) \d\S* \(([^)]+)\)$/gm)].map(([, name]) => name)
}

it.scopedLive(
  "§10 the packed command delivers its first webhook from an empty folder",
  () =>
    Effect.gen(function* () {
      const installed = yield* installPacked("posthorn")
      expect(noticed(installed.folder, "NOTICES.txt")).toEqual(
        expect.arrayContaining(["effect", "@effect/platform", "pg", "undici"])
      )
      expect(noticed(installed.folder, "console/NOTICES.txt")).toEqual(
        expect.arrayContaining(["react", "react-dom", "@fontsource-variable/inter"])
      )
      const dev = yield* Effect.acquireRelease(
        Effect.sync(() =>
          installed.node(["node_modules/.bin/posthorn", "dev"], { PORT: "0", NO_COLOR: "1" })
        ),
        (child) =>
          Effect.async<void>((resume) => {
            child.once("close", () => resume(Effect.void))
            child.kill("SIGTERM")
          })
      )

      const printed = yield* Effect.async<string>((resume) => {
        let text = ""
        const more = (chunk: Buffer) => {
          text += chunk
          if (/First webhook.*\n/.test(text)) resume(Effect.succeed(text))
        }
        dev.stdout?.on("data", more)
        dev.stderr?.on("data", more)
        dev.once("close", () => resume(Effect.succeed(text)))
      })

      expect(printed).toMatch(/First webhook +whd_\w+ · 200 · signature verified by the receiver/)
    }),
  240_000
)
