/** Who is signed in to the console. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { filled } from "@posthorn/api-contract/Wire"
import { ConsoleSessions } from "@posthorn/capabilities/ConsoleSessions"
import { Effect, Layer } from "effect"

export const consoleSessionsLive = HttpApiBuilder.group(Api, "consoleSessions", (handlers) =>
  Effect.map(ConsoleSessions, (sessions) =>
    handlers
      .handle("listConsoleSessions", ({ urlParams }) => sessions.list(filled(urlParams)))
      .handle("endConsoleSession", ({ path }) => sessions.end(path.sessionId))
  )
).pipe(Layer.provide(ConsoleSessions.Default))
