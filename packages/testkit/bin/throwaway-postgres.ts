/** A throw-away PostgreSQL for scripts that measure: prints its URL, and goes with this process. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as EmbeddedPostgres from "@posthorn/embedded-postgres/EmbeddedPostgres"
import { Effect, Fiber, Redacted } from "effect"

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const path = mkdtempSync(join(tmpdir(), "posthorn-pg-"))
    chmodSync(path, 0o755)
    return path
  }),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const program = Effect.gen(function* () {
  const dataDir = yield* folder
  const { url } = yield* EmbeddedPostgres.start({ dataDir, throwaway: true })
  console.log(Redacted.value(url))
  return yield* Effect.never
}).pipe(Effect.scoped)

const fiber = Effect.runFork(program)
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => Effect.runPromise(Fiber.interrupt(fiber)).finally(() => process.exit()))
}
