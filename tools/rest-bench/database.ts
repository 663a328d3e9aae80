/** A throw-away PostgreSQL for the bench: prints its URL, and goes with this process. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Redacted } from "effect"
import * as EmbeddedPostgres from "../../packages/cli/src/EmbeddedPostgres.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-bench-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const program = Effect.gen(function* () {
  const dataDir = yield* folder
  const { url } = yield* EmbeddedPostgres.start({ dataDir, throwaway: true })
  yield* Effect.sync(() => process.stdout.write(`${Redacted.value(url)}\n`))
  return yield* Effect.never
}).pipe(Effect.scoped)

NodeRuntime.runMain(program)
