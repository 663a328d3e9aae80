/**
 * What does not compile: `npm run check` fails where an expected error is missing. And what the types cannot say of the
 * gates: every operation stands behind the one that its path and permission ask for.
 */
import type { Api } from "@posthorn/api-contract/Api"
import { OperatorGate, WorkspaceGate } from "@posthorn/api-contract/Gates"
import { failure, ProblemContext, type Problems, problems, toProblem } from "@posthorn/api-contract/Problem"
import { type Bindings, entries } from "@posthorn/api-contract/Walk"
import { InvalidWebhookUrl, WebhookEndpointDisabled } from "@posthorn/domain/Errors"
import { CurrentCaller, CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"

type Table = Bindings<typeof Api>
type Bound<Name extends keyof Table> = Pick<Table, Name>

const page = { items: [], nextCursor: null }

describe("binding", () => {
  it("compiles with what the operation's gate provides", () => {
    const bound = {
      listMembers: () => Effect.as(CurrentPrincipal, page),
      listWorkspaces: () => Effect.as(CurrentOperator, page),
      deleteWorkspace: () => Effect.asVoid(CurrentPrincipal),
      getCaller: () => Effect.flatMap(CurrentCaller, () => Effect.never)
    } satisfies Bound<"deleteWorkspace" | "getCaller" | "listMembers" | "listWorkspaces">

    expect(Object.keys(bound)).toHaveLength(4)
  })

  it("does not compile with what another gate provides", () => {
    const bound = {
      // @ts-expect-error a workspace's operation has no operator
      listMembers: () => Effect.as(CurrentOperator, page),
      // @ts-expect-error the operator's operation has no workspace
      listWorkspaces: () => Effect.as(CurrentPrincipal, page),
      // @ts-expect-error whoever calls need not be in a workspace
      getCaller: () => Effect.flatMap(CurrentPrincipal, () => Effect.never)
    } satisfies Bound<"getCaller" | "listMembers" | "listWorkspaces">

    expect(Object.keys(bound)).toHaveLength(3)
  })

  it("does not compile with an undeclared error, another answer, or an operation left out", () => {
    const bound = {
      // @ts-expect-error listing members refuses no URL
      listMembers: () => Effect.fail(new InvalidWebhookUrl({ reason: "not_https" })),
      // @ts-expect-error a page has a cursor
      listWorkspaces: () => Effect.succeed({ items: [] })
    } satisfies Bound<"listMembers" | "listWorkspaces">
    // @ts-expect-error the others are missing
    bound satisfies Table

    expect(Object.keys(bound)).toHaveLength(2)
  })

  it("does not compile while an error has no status", () => {
    const { RequestTimeout, ...others } = problems
    // @ts-expect-error RequestTimeout has none
    others satisfies Problems

    expect(RequestTimeout.status).toBe(408)
  })
})

it("decision §3 every operation under a workspace's path stands behind its gate, and the operator's others behind theirs", () => {
  for (const { gate, name, path, rules } of entries) {
    expect(gate === WorkspaceGate, name).toBe(/^\/workspaces\/:slug(\/|$)/.test(path))
    expect(gate === OperatorGate, name).toBe(rules.permission === "operator" && !path.includes(":slug"))
  }
})

it("§7 an error that an operation declares encodes itself as the problem it is answered with, and decodes back", () => {
  const told = { baseUrl: "https://posthorn.test", traceId: "4bf92f3577b34da6a3ce929d0e0e4736" }
  const error = new WebhookEndpointDisabled({ endpointId: "whe_1" })
  const schema = failure(WebhookEndpointDisabled)

  const wire = Effect.runSync(Effect.provideService(Schema.encode(schema)(error), ProblemContext, told))

  expect(wire).toEqual(toProblem(error, told))
  expect(Schema.decodeUnknownSync(schema)(wire)).toEqual(error)
})
