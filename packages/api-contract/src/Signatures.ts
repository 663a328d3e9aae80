/** Explaining why a receiver does not accept a signature. Source: spec §4.1 and §4.6. */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { DELIVERED, SIGNED } from "./Examples.ts"
import { Text } from "./Fields.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, Slug, strictRequest } from "./Shapes.ts"

const MOST_HEADERS = 100
const LONGEST_HEADER = 4_096

const isHeaders = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.keys(value).length <= MOST_HEADERS &&
  Object.values(value).every((each) => typeof each === "string" && each.length <= LONGEST_HEADER)

/** Checked as a whole: refusing a hundred thousand members is as fast as refusing one. */
const ReceivedHeaders = Schema.declare(isHeaders).annotations({
  description:
    "The request's headers as your receiver got them, by name in any case; at least the three that begin with `webhook-`, and those that hold `hmac` signatures. Of each scheme the first 8 entries of `webhook-signature` are tried.",
  message: () =>
    `Expected an object of at most ${MOST_HEADERS} headers, each a text of at most ${LONGEST_HEADER} characters`,
  jsonSchema: {
    type: "object",
    additionalProperties: { type: "string", maxLength: LONGEST_HEADER },
    maxProperties: MOST_HEADERS
  },
  examples: [SIGNED]
})

const ExplainSignature = Schema.Struct({
  headers: ReceivedHeaders,
  body: Text("The raw body as your receiver got it, to the letter.", DELIVERED)
}).annotations({ identifier: "ExplainSignature" })

export const SignatureExplanation = Schema.Struct({
  verdict: Schema.Literal(
    "right",
    "previous_secret",
    "body_changed",
    "timestamp_off",
    "header_missing",
    "wrong_secret"
  ).annotations({ description: "The verdict on the signature; the first that applies." }),
  explanation: Text(
    "Why, and what to do.",
    "Headers and body fit the endpoint's current secret, and the time is right."
  )
}).annotations({
  identifier: "SignatureExplanation",
  description: "Why a signature is right or not. Never a secret, and never a signature that was not given."
})
export type SignatureExplanation = typeof SignatureExplanation.Type

export const explainSignature = HttpApiEndpoint.post(
  "explainSignature",
  "/workspaces/:slug/webhooks/:endpointId/explain-signature"
)
  .setPath(Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint") }))
  .setPayload(strictRequest(ExplainSignature))
  .addSuccess(SignatureExplanation)
  .addError(failure(WebhookEndpointNotFound))
  .annotate(OpenApi.Summary, "Explain a signature")
  .annotate(
    OpenApi.Description,
    "Says why a receiver refuses a delivery: whether the signature fits, was made with the previous secret, is for another body, or is old. Nothing is stored."
  )
  .annotateContext(
    operation({
      permission: "webhook:test",
      bucket: "assistant",
      tool: "explain_signature",
      toolset: "core",
      guidance:
        "When a receiver answers 401 or says that a signature is wrong: ask for the headers and the raw body it got.",
      readOnly: true
    })
  )
