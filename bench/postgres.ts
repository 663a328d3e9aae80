/**
 * A PostgreSQL for the benchmark, as durable as that of `npm start` (fsync and synchronous_commit are on). Prints its URL,
 * and removes its folder when it stops.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Fiber, Redacted } from "effect"
import * as EmbeddedPostgres from "../packages/embedded-postgres/src/EmbeddedPostgres.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const path = mkdtempSync(join(tmpdir(), "posthorn-bench-"))
    chmodSync(path, 0o755)
    return path
  }),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const program = Effect.gen(function* () {
  const { url } = yield* EmbeddedPostgres.start({ dataDir: yield* folder })
  console.log(Redacted.value(url))
  return yield* Effect.never
}).pipe(Effect.scoped)

const fiber = Effect.runFork(program)
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => Effect.runPromise(Fiber.interrupt(fiber)).finally(() => process.exit()))
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
