/** Webhook endpoints, their statistics and diagnosis, and test sends. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { CreateWebhookEndpoint, UpdateWebhookEndpoint } from "@posthorn/api-contract/EndpointShapes"
import { strictRequest, withDefaults } from "@posthorn/api-contract/Shapes"
import { SendTestEvent } from "@posthorn/api-contract/TestSends"
import { AuthenticationChecks } from "@posthorn/capabilities/AuthenticationChecks"
import { Diagnoses } from "@posthorn/capabilities/Diagnosis"
import { type EndpointChanges, Endpoints, type NewEndpoint } from "@posthorn/capabilities/Endpoints"
import { SignatureExplanations } from "@posthorn/capabilities/SignatureExplanations"
import { Statistics } from "@posthorn/capabilities/Statistics"
import { type TestSend, TestSends } from "@posthorn/capabilities/TestSends"
import { Effect, Layer } from "effect"
import { matching } from "./EntityTag.ts"
import { exactBody } from "./ExactBody.ts"
import { IdempotentExecution } from "./IdempotentExecution.ts"
import { respond } from "./Responses.ts"

const createBody = exactBody("createWebhookEndpoint", strictRequest(CreateWebhookEndpoint))
const updateBody = exactBody("updateWebhookEndpoint", strictRequest(UpdateWebhookEndpoint))
const testBody = exactBody("sendTestEvent", strictRequest(SendTestEvent))

export const endpointsLive = HttpApiBuilder.group(Api, "endpoints", (handlers) =>
  Effect.gen(function* () {
    const authentications = yield* AuthenticationChecks
    const diagnoses = yield* Diagnoses
    const endpoints = yield* Endpoints
    const signatures = yield* SignatureExplanations
    const statistics = yield* Statistics
    const tests = yield* TestSends
    const { idempotent } = yield* IdempotentExecution
    return handlers
      .handleRaw("createWebhookEndpoint", (request) =>
        Effect.flatMap(createBody(request.request), (payload) =>
          idempotent(
            "createWebhookEndpoint",
            { ...request, payload },
            endpoints.create(withDefaults(payload) as NewEndpoint)
          )
        )
      )
      .handle("listWebhookEndpoints", ({ urlParams }) =>
        Effect.map(endpoints.list(withDefaults(urlParams)), respond("listWebhookEndpoints"))
      )
      .handle("getWebhookEndpoint", ({ path }) =>
        Effect.map(endpoints.get(path.endpointId), respond("getWebhookEndpoint"))
      )
      .handleRaw("updateWebhookEndpoint", ({ headers, path, request }) =>
        Effect.flatMap(updateBody(request), (payload) =>
          Effect.map(
            endpoints.update(path.endpointId, payload as EndpointChanges, matching(headers["if-match"])),
            respond("updateWebhookEndpoint")
          )
        )
      )
      .handle("deleteWebhookEndpoint", ({ headers, path }) =>
        endpoints.remove(path.endpointId, matching(headers["if-match"]))
      )
      .handle("getEndpointStats", ({ path, urlParams }) =>
        statistics.ofEndpoint(path.endpointId, withDefaults(urlParams).hours)
      )
      .handle("diagnoseWebhookEndpoint", ({ path }) =>
        Effect.map(diagnoses.ofEndpoint(path.endpointId), respond("diagnoseWebhookEndpoint"))
      )
      .handle("rotateWebhookSecret", (request) =>
        idempotent("rotateWebhookSecret", request, endpoints.rotateSecret(request.path.endpointId))
      )
      .handle("explainSignature", ({ path, payload }) => signatures.explain(path.endpointId, payload))
      .handle("checkAuthentication", ({ path }) => authentications.check(path.endpointId))
      .handleRaw("sendTestEvent", (request) =>
        Effect.flatMap(testBody(request.request), (payload) =>
          idempotent(
            "sendTestEvent",
            { ...request, payload },
            tests.send(request.path.endpointId, payload as TestSend),
            {
              seconds: payload.waitSeconds ?? 0,
              run: (delivery) => tests.outcome(delivery, payload.waitSeconds ?? 0)
            }
          )
        )
      )
  })
).pipe(
  Layer.provide([
    AuthenticationChecks.Default,
    Diagnoses.Default,
    Endpoints.Default,
    IdempotentExecution.Default,
    SignatureExplanations.Default,
    Statistics.Default,
    TestSends.Default
  ])
)
