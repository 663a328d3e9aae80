/**
 * Where the contract meets the capabilities: one line per operation, and the only place they meet.
 *
 * REST and MCP both run this table, so an operation cannot exist in one and not in the other, nor behave differently.
 * A missing entry, an undeclared error or a wrong answer does not compile.
 */
import type { Api } from "@posthorn/api-contract/Api"
import type { Bindings } from "@posthorn/api-contract/Walk"
import { ApiTokens } from "@posthorn/capabilities/ApiTokens"
import { Deliveries } from "@posthorn/capabilities/Deliveries"
import { Endpoints } from "@posthorn/capabilities/Endpoints"
import { Events } from "@posthorn/capabilities/Events"
import { Workspaces } from "@posthorn/capabilities/Workspaces"
import { invalid } from "@posthorn/domain/Errors"
import type { JsonText } from "@posthorn/domain/JsonText"
import type { CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { Effect } from "effect"

export type OperationTable = Bindings<typeof Api, CurrentOperator | CurrentPrincipal>

export class Operations extends Effect.Service<Operations>()("@posthorn/server/Operations", {
  dependencies: [ApiTokens.Default, Deliveries.Default, Endpoints.Default, Events.Default, Workspaces.Default],
  effect: Effect.gen(function* () {
    const deliveries = yield* Deliveries
    const endpoints = yield* Endpoints
    const events = yield* Events
    const tokens = yield* ApiTokens
    const workspaces = yield* Workspaces

    const table = {
      createWorkspace: ({ body }) => workspaces.create(body),
      createApiToken: ({ body }) => tokens.create(body),
      createWebhookEndpoint: ({ body }) => endpoints.create(body),
      rotateWebhookSecret: ({ path }) => endpoints.rotateSecret(path.endpointId),
      sendTestEvent: ({ path }) => endpoints.sendTestEvent(path.endpointId),
      listWebhookDeliveries: ({ path, query }) => deliveries.listByEndpoint(path.endpointId, query),
      listWebhookDeliveryAttempts: ({ path, query }) => deliveries.listAttempts(path.deliveryId, query),
      replayWebhookDelivery: ({ path }) => deliveries.replay(path.deliveryId),
      publishEvent: ({ body, headers }) =>
        Effect.flatMap(oneKey(body.idempotencyKey, headers["idempotency-key"]), (idempotencyKey) =>
          events.publish({ eventType: body.eventType, payload: body.payload as JsonText, idempotencyKey })
        )
    } satisfies OperationTable

    return { table: table as OperationTable } as const
  })
}) {}

/** The key of a publish: in the body, in the header, or the same in both. */
const oneKey = (member: string | undefined, header: string | undefined) =>
  member !== undefined && header !== undefined && member !== header
    ? Effect.fail(invalid("/idempotencyKey", "differs from the Idempotency-Key header: send one of them"))
    : Effect.succeed(member ?? header)
