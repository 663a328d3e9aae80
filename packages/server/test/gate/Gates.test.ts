/**
 * What must not compile: `npm run check` fails when an expected error is missing. Also what types cannot express: every
 * operation is behind the gate that its path and permission require.
 */
import { HttpApiBuilder, type HttpApiGroup } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { entries } from "@posthorn/api-contract/Contract"
import { type CallerGate, OperatorGate, WorkspaceGate } from "@posthorn/api-contract/Gates"
import { failure, ProblemContext, type Problems, problems, toProblem } from "@posthorn/api-contract/Problem"
import { InvalidWebhookUrl, WebhookEndpointDisabled } from "@posthorn/domain/Errors"
import { CurrentCaller, CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { Effect, Layer, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { respond } from "../../src/api/Responses.ts"

const page = { items: [], nextCursor: null }

describe("handling", () => {
  it("compiles with what the operation's gate provides", () => {
    const bound = [
      HttpApiBuilder.handler(Api, "members", "listMembers", () => Effect.as(CurrentPrincipal, page)),
      HttpApiBuilder.handler(Api, "workspaces", "listWorkspaces", () => Effect.as(CurrentOperator, page)),
      HttpApiBuilder.handler(Api, "workspaces", "deleteWorkspace", () => Effect.asVoid(CurrentPrincipal)),
      HttpApiBuilder.handler(Api, "caller", "getCaller", () =>
        Effect.flatMap(CurrentCaller, () => Effect.never)
      )
    ]
    const group = HttpApiBuilder.group(Api, "caller", (handlers) =>
      handlers.handle("getCaller", () => Effect.flatMap(CurrentCaller, () => Effect.never))
    )
    group satisfies Layer.Layer<HttpApiGroup.ApiGroup<"posthorn", "caller">, never, CallerGate>

    expect(bound).toHaveLength(4)
  })

  it("does not compile with what another gate provides", () => {
    const group = HttpApiBuilder.group(Api, "caller", (handlers) =>
      handlers.handle("getCaller", () => Effect.flatMap(CurrentPrincipal, () => Effect.never))
    )
    // @ts-expect-error a caller need not be in a workspace, so nothing provides the principal
    group satisfies Layer.Layer<HttpApiGroup.ApiGroup<"posthorn", "caller">, never, CallerGate>

    expect(Layer.isLayer(group)).toBe(true)
  })

  it("does not compile with an undeclared error, another answer, or an operation left out", () => {
    const bound = [
      HttpApiBuilder.handler(Api, "members", "listMembers", () =>
        // @ts-expect-error listing members does not declare this error
        Effect.fail(new InvalidWebhookUrl({ reason: "not_https" }))
      ),
      HttpApiBuilder.handler(Api, "workspaces", "listWorkspaces", () =>
        // @ts-expect-error a page has a cursor
        Effect.succeed({ items: [] })
      ),
      HttpApiBuilder.handler(Api, "deliveries", "getWebhookDelivery", () =>
        // @ts-expect-error a page is not a delivery, not even as a response
        Effect.map(Effect.succeed(page), respond("getWebhookDelivery"))
      )
    ]
    const group = HttpApiBuilder.group(Api, "members", (handlers) =>
      // @ts-expect-error the other operations are missing
      handlers.handle("listMembers", () => Effect.succeed(page))
    )

    expect([bound.length, Layer.isLayer(group)]).toEqual([3, true])
  })

  it("does not compile while an error has no status", () => {
    const { RequestTimeout, ...others } = problems
    // @ts-expect-error RequestTimeout has none
    others satisfies Problems

    expect(RequestTimeout.status).toBe(408)
  })
})

it("§5.1 every operation below a workspace's path is behind its gate, and the operator's others behind theirs", () => {
  for (const { gate, name, path, rules } of entries) {
    expect(gate === WorkspaceGate, name).toBe(/^\/workspaces\/:slug(\/|$)/.test(path))
    expect(gate === OperatorGate, name).toBe(rules.permission === "operator" && !path.includes(":slug"))
  }
})

it("§7 each declared error encodes itself as its problem, and decodes back", () => {
  const told = { baseUrl: "https://posthorn.test", traceId: "4bf92f3577b34da6a3ce929d0e0e4736" }
  const error = new WebhookEndpointDisabled({ endpointId: "whe_1" })
  const schema = failure(WebhookEndpointDisabled)

  const respond = Effect.runSync(Effect.provideService(Schema.encode(schema)(error), ProblemContext, told))

  expect(respond).toEqual(toProblem(error, told))
  expect(Schema.decodeUnknownSync(schema)(respond)).toEqual(error)
})
