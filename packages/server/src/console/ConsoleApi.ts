/**
 * Mounts the contract's operations under `/console/api` for the console's own page, with a session instead of a token.
 *
 * They are REST's routes with another authentication. Pages of other origins are refused. Source: spec §11.
 */
import { HttpApiBuilder, HttpRouter, HttpServerRequest } from "@effect/platform"
import { ForeignOrigin } from "@posthorn/domain/Errors"
import { Context, Effect, Layer } from "effect"
import { CurrentCall } from "../gate/CurrentCall.ts"
import { isOurs, SessionAuthentication } from "./SessionAuthentication.ts"

export const consoleApiLive = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const session = yield* SessionAuthentication
    const operations = yield* router.router
    const routes = operations.pipe(
      HttpRouter.use((operation) =>
        Effect.contextWithEffect((context: Context.Context<HttpServerRequest.HttpServerRequest>) => {
          const request = Context.get(context, HttpServerRequest.HttpServerRequest)
          const call = Context.get(context, CurrentCall)
          return isOurs(request)
            ? Effect.provideService(operation, CurrentCall, {
                ...call,
                via: "console",
                authenticate: (slug) => session.authenticate(request, slug)
              })
            : Effect.fail(new ForeignOrigin())
        })
      )
    )
    yield* router.mount("/console/api", routes)
  })
).pipe(Layer.provide(SessionAuthentication.Default))
