import { expect, it } from "@effect/vitest"
import { installPacked } from "@posthorn/testkit/Packed"
import { Effect } from "effect"

it.scopedLive(
  "decision §1 the packed command delivers its first webhook from an empty folder",
  () =>
    Effect.gen(function* () {
      const installed = yield* installPacked("posthorn")
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
