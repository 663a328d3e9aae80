/**
 * Where the contract meets the capabilities: one line per operation, and the only place they meet.
 *
 * REST and MCP both run this table, so an operation cannot exist in one and not in the other, nor behave differently.
 * A missing entry, an undeclared error, a wrong answer, or a need that the operation's gate does not provide does not
 * compile.
 */
import type { Api } from "@posthorn/api-contract/Api"
import type { Bindings } from "@posthorn/api-contract/Walk"
import { ApiTokens } from "@posthorn/capabilities/ApiTokens"
import { AuditLog } from "@posthorn/capabilities/AuditLog"
import { Callers } from "@posthorn/capabilities/Callers"
import { ConsoleLinks } from "@posthorn/capabilities/ConsoleLinks"
import { Deliveries } from "@posthorn/capabilities/Deliveries"
import { Diagnoses } from "@posthorn/capabilities/Diagnosis"
import { Endpoints } from "@posthorn/capabilities/Endpoints"
import { Events, type NewEvent } from "@posthorn/capabilities/Events"
import { Members } from "@posthorn/capabilities/Members"
import { Notifications } from "@posthorn/capabilities/Notifications"
import { Replays } from "@posthorn/capabilities/Replays"
import { SignatureExplanations } from "@posthorn/capabilities/SignatureExplanations"
import { Statistics } from "@posthorn/capabilities/Statistics"
import { type Sent, type TestSend, TestSends } from "@posthorn/capabilities/TestSends"
import { Traces } from "@posthorn/capabilities/Traces"
import { Workspaces } from "@posthorn/capabilities/Workspaces"
import { andThen } from "@posthorn/domain/AtOnce"
import { invalid } from "@posthorn/domain/Errors"
import type { JsonText } from "@posthorn/domain/JsonText"
import type { CurrentCaller, CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { Effect } from "effect"
import { matching } from "./EntityTag.ts"
import { ServerConfig } from "./ServerConfig.ts"

export type OperationTable = Bindings<typeof Api>

/** What the gates tell operations. */
export type Provided = CurrentCaller | CurrentOperator | CurrentPrincipal

export interface Afterwards {
  /** How long it may take; 0 when this call wants none of it. */
  readonly seconds: (body: unknown) => number
  /** From what the operation answered to what goes out. */
  readonly run: (answer: unknown, seconds: number) => Effect.Effect<unknown, never, CurrentPrincipal>
}

export class Operations extends Effect.Service<Operations>()("@posthorn/server/Operations", {
  dependencies: [
    ApiTokens.Default,
    AuditLog.Default,
    Callers.Default,
    ConsoleLinks.Default,
    Deliveries.Default,
    Diagnoses.Default,
    Endpoints.Default,
    Events.Default,
    Members.Default,
    Notifications.Default,
    SignatureExplanations.Default,
    Replays.Default,
    Statistics.Default,
    TestSends.Default,
    Traces.Default,
    Workspaces.Default
  ],
  effect: Effect.gen(function* () {
    const audit = yield* AuditLog
    const callers = yield* Callers
    const consoleLinks = yield* ConsoleLinks
    const deliveries = yield* Deliveries
    const diagnoses = yield* Diagnoses
    const endpoints = yield* Endpoints
    const events = yield* Events
    const members = yield* Members
    const notifications = yield* Notifications
    const signatures = yield* SignatureExplanations
    const replays = yield* Replays
    const statistics = yield* Statistics
    const tests = yield* TestSends
    const tokens = yield* ApiTokens
    const traces = yield* Traces
    const workspaces = yield* Workspaces
    const { baseUrl } = yield* ServerConfig

    const table = {
      createWorkspace: ({ body }) => workspaces.create(body),
      listWorkspaces: ({ query }) => workspaces.list(query),
      deleteWorkspace: () => workspaces.remove,
      getOverview: () => statistics.overview,
      listNotifications: ({ query }) => notifications.list(query),
      markNotificationRead: ({ path }) => notifications.markRead(path.notificationId),
      listMembers: ({ query }) => members.list(query),
      addMember: ({ body }) => members.add(body),
      updateMember: ({ body, path }) => members.update(path.memberId, body),
      removeMember: ({ path }) => members.remove(path.memberId),
      listApiTokens: ({ query }) => tokens.list(query),
      revokeApiToken: ({ path, query }) => tokens.revoke(path.tokenId, query.descendants),
      listAuditEvents: ({ query }) => audit.list(query),
      listOperatorAuditEvents: ({ query }) => audit.listOperator(query),
      getCaller: () => callers.describe,
      createConsoleLink: ({ body }) =>
        Effect.map(consoleLinks.create(body), ({ code, expiresAt }) => ({
          // In the fragment, which no server, proxy or Referer ever sees.
          url: `${baseUrl}/console/sign-in#code=${code}`,
          expiresAt
        })),
      createApiToken: ({ body }) => tokens.create(body),
      createWebhookEndpoint: ({ body }) => endpoints.create(body),
      listWebhookEndpoints: ({ query }) => endpoints.list(query),
      getWebhookEndpoint: ({ path }) => endpoints.get(path.endpointId),
      updateWebhookEndpoint: ({ body, headers, path }) =>
        endpoints.update(path.endpointId, body, matching(headers["if-match"])),
      deleteWebhookEndpoint: ({ headers, path }) =>
        endpoints.remove(path.endpointId, matching(headers["if-match"])),
      getEndpointStats: ({ path, query }) => statistics.ofEndpoint(path.endpointId, query.hours),
      diagnoseWebhookEndpoint: ({ path }) => diagnoses.ofEndpoint(path.endpointId),
      rotateWebhookSecret: ({ path }) => endpoints.rotateSecret(path.endpointId),
      explainSignature: ({ body, path }) => signatures.explain(path.endpointId, body),
      sendTestEvent: ({ body, path }) => tests.send(path.endpointId, body as TestSend),
      listWebhookDeliveries: ({ path, query }) => deliveries.listByEndpoint(path.endpointId, query),
      listWorkspaceDeliveries: ({ query }) => deliveries.list(query),
      getWebhookDelivery: ({ path }) => deliveries.get(path.deliveryId),
      listWebhookDeliveryAttempts: ({ path, query }) => deliveries.listAttempts(path.deliveryId, query),
      replayWebhookDelivery: ({ path }) => deliveries.replay(path.deliveryId),
      startReplay: ({ body, path }) => replays.start(path.endpointId, body),
      listReplays: ({ query }) => replays.list(query),
      getReplay: ({ path }) => replays.get(path.replayId),
      cancelReplay: ({ path }) => replays.cancel(path.replayId),
      getTrace: ({ path }) => traces.get(path.traceId),
      publishEvent: ({ body, headers }) =>
        andThen(oneKey(body.idempotencyKey, headers["idempotency-key"]), (idempotencyKey) =>
          events.publish({ eventType: body.eventType, payload: body.payload as JsonText, idempotencyKey })
        ),
      publishEvents: ({ body }) => events.publishAll(body.events as ReadonlyArray<NewEvent>),
      listEvents: ({ query }) => events.list(query),
      getEvent: ({ path }) => events.get(path.eventId),
      listEventTypes: ({ query }) => events.listTypes(query)
    } satisfies OperationTable

    /** What goes on after the change of an operation is committed, before its answer. */
    const afterwards: Readonly<Record<string, Afterwards>> = {
      sendTestEvent: {
        seconds: (body) => (body as { readonly waitSeconds?: number }).waitSeconds ?? 0,
        run: (sent, seconds) => tests.outcome(sent as Sent, seconds)
      }
    }

    return { afterwards, table: table as OperationTable } as const
  })
}) {}

/** The key of a publish: in the body, in the header, or the same in both. */
const oneKey = (member: string | undefined, header: string | undefined) =>
  member !== undefined && header !== undefined && member !== header
    ? Effect.fail(invalid("/idempotencyKey", "differs from the Idempotency-Key header: send one of them"))
    : Effect.succeed(member ?? header)
