/** A worker process whose connections to the database can be held, slowed down and cut. */

import { startWorker } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { Effect, Redacted } from "effect"
import { workspace } from "../Setting.ts"
import { makeLine, through } from "./DatabaseLine.ts"
import { scrape } from "./Scrapes.ts"
import { shared } from "./Story.ts"

export const behindLine = Effect.gen(function* () {
  const url = Redacted.value(yield* TestDatabaseUrl)
  const line = yield* makeLine(new URL(url))
  const receiver = yield* makeReceiver({ behaviours: { "/broken": (answer) => answer.reply(503) } })
  const acme = yield* workspace
  const port = yield* freePort
  const worker = yield* startWorker({ DATABASE_URL: through(line, url), METRICS_PORT: String(port) })
  yield* shared(25, 32)
  return { acme, line, receiver, worker, meters: scrape(`http://127.0.0.1:${port}`) }
})
