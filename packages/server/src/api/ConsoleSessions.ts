/** Who is signed in to the console. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { ConsoleSessions } from "@posthorn/capabilities/ConsoleSessions"
import { Effect, Layer } from "effect"

export const consoleSessionsLive = HttpApiBuilder.group(Api, "consoleSessions", (handlers) =>
  Effect.map(ConsoleSessions, (sessions) =>
    handlers
      .handle("listConsoleSessions", ({ urlParams }) => sessions.list(withDefaults(urlParams)))
      .handle("endConsoleSession", ({ path }) => sessions.end(path.sessionId))
  )
).pipe(Layer.provide(ConsoleSessions.Default))
