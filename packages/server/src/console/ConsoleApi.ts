/**
 * Mounts the contract's operations under `/console/api` for the console's own page, with a session instead of a token.
 *
 * They are REST's routes with another authentication. Pages of other origins are refused. To a session with some of the pages
 * an operation that none of them calls does not exist; nor does, to a session with some of the endpoints, another one in a path.
 * What such a session lists and changes is limited by the queries (`persistence/client/Within`).
 * Source: spec §11 and §11.1.
 */
import { HttpApiBuilder, HttpRouter, HttpServerRequest } from "@effect/platform"
import { pagesWith } from "@posthorn/api-contract/ConsolePages"
import type { ContractEntry } from "@posthorn/api-contract/Contract"
import type { ConsoleView } from "@posthorn/domain/ConsoleView"
import { ForeignOrigin, RouteNotFound, WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { Context, Effect, Either, Layer } from "effect"
import { countedAs, workspaceIdOf } from "../gate/AuthenticatedCaller.ts"
import { CurrentCall } from "../gate/CurrentCall.ts"
import { operationOf } from "../gate/Gate.ts"
import { RateLimits } from "../gate/RateLimits.ts"
import { isOurs, SessionAuthentication } from "./SessionAuthentication.ts"

/** What of the operation does not exist for a session with this view. */
const missing = (
  { endpointIds, pages }: ConsoleView,
  { inWorkspace, name }: ContractEntry,
  endpointId: string | undefined
) => {
  if (pages !== null && inWorkspace && !pagesWith(name).some((page) => pages.includes(page)))
    return new RouteNotFound()
  if (endpointIds !== null && endpointId !== undefined && !endpointIds.includes(endpointId))
    return new WebhookEndpointNotFound()
  return undefined
}

export const consoleApiLive = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const session = yield* SessionAuthentication
    const limits = yield* RateLimits
    const operations = yield* router.router

    const routes = operations.pipe(
      HttpRouter.use((operation) =>
        Effect.contextWithEffect(
          (context: Context.Context<HttpRouter.RouteContext | HttpServerRequest.HttpServerRequest>) => {
            const request = Context.get(context, HttpServerRequest.HttpServerRequest)
            const { params, route } = Context.get(context, HttpRouter.RouteContext)
            const call = Context.get(context, CurrentCall)
            if (!isOurs(request)) return Effect.fail(new ForeignOrigin())
            return Effect.flatMap(Effect.either(session.authenticate(request, params.slug)), (found) => {
              const entry = operationOf(route)
              const refusal = Either.isRight(found)
                ? missing(found.right.session.view, entry, params.endpointId)
                : undefined
              if (refusal === undefined || Either.isLeft(found))
                return Effect.provideService(operation, CurrentCall, {
                  ...call,
                  via: "console",
                  authenticate: () => found
                })
              const counted = limits.take(
                entry.rules.bucket,
                countedAs(found.right),
                workspaceIdOf(found.right)
              )
              return Effect.zipRight(counted, Effect.fail(refusal))
            })
          }
        )
      )
    )
    yield* router.mount("/console/api", routes)
  })
).pipe(Layer.provide([RateLimits.Default, SessionAuthentication.Default]))
