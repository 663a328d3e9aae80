/** Links that sign a browser in to the console. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { ConsoleLinks } from "@posthorn/capabilities/ConsoleLinks"
import { embeddedPage } from "@posthorn/domain/ConsoleView"
import { Effect, Layer } from "effect"
import { ServerConfig } from "../ServerConfig.ts"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const consoleLinksLive = HttpApiBuilder.group(Api, "consoleLinks", (handlers) =>
  Effect.gen(function* () {
    const links = yield* ConsoleLinks
    const { idempotent } = yield* IdempotentExecution
    const { baseUrl } = yield* ServerConfig
    return handlers.handle("createConsoleLink", (request) => {
      const made = Effect.map(links.create(request.payload), ({ code, embedIn, expiresAt }) => ({
        // The code is in the fragment, which no server, proxy or Referer ever sees.
        url: `${baseUrl}/console/${embedIn === null ? "sign-in" : embeddedPage(embedIn)}#code=${code}`,
        expiresAt
      }))
      return idempotent("createConsoleLink", request, made)
    })
  })
).pipe(Layer.provide([ConsoleLinks.Default, IdempotentExecution.Default]))
