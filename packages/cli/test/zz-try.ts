import { Effect, Redacted } from "effect"
import * as EmbeddedPostgres from "../src/EmbeddedPostgres.ts"
import pg from "pg"
const t0 = performance.now()
const dir = process.argv[2]!
const hold = process.argv[3] === "hold"
Effect.runFork(Effect.scoped(Effect.gen(function* () {
  const r = yield* EmbeddedPostgres.start({ dataDir: dir, log: (l) => Effect.sync(() => process.env.V && console.log(l)) })
  console.log("up", (performance.now() - t0).toFixed(0), "ms", r.port, r.version, r.created)
  const c = new pg.Client({ connectionString: Redacted.value(r.url) })
  yield* Effect.promise(() => c.connect())
  const q = yield* Effect.promise(() => c.query("select current_setting('fsync') f, current_setting('wal_level') w, current_setting('data_directory') d, current_setting('lc_collate', true) l"))
  console.log("query", (performance.now() - t0).toFixed(0), JSON.stringify(q.rows[0]))
  yield* Effect.promise(() => c.end())
  if (hold) yield* Effect.never
})).pipe(Effect.tap(() => Effect.sync(() => console.log("down", (performance.now() - t0).toFixed(0)))), Effect.catchAll((e) => Effect.sync(() => { console.log("ERR", e._tag, e.message) }))))
