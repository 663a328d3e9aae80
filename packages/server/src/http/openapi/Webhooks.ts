/**
 * The `webhooks` section of the document, which the library cannot generate: the request to a receiver, how to verify it, and
 * operational events. A test verifies its example with the example secret. Source: spec §2.4, §4.1 and §6.4.
 */
import { DELIVERED, exampleId, SIGNED, TRACE_ID } from "@posthorn/api-contract/Examples"
import { operationalEvents } from "@posthorn/api-contract/OperationalEvents"
import { SchemaAST } from "effect"
import { type Json, refOf } from "./Schemas.ts"
import { exampleOf } from "./ShapeExamples.ts"

/** In words, for the document and for `/llms.txt`. */
export const VERIFYING = `1. Take the raw body, before anything parses it, and the headers \`webhook-id\`, \`webhook-timestamp\` and \`webhook-signature\`.
2. The key is the base64 after \`whsec_\` in the endpoint's secret, decoded: 32 bytes. A secret that was taken over as text is the key itself.
3. Compute HMAC-SHA256 with it over \`<webhook-id>.<webhook-timestamp>.<raw body>\` and write it as standard base64.
4. \`webhook-signature\` has one entry, or two for 24 hours after a rotation, separated by a space, each \`v1,<base64>\`. One of
   them must be equal to yours, compared in constant time.
5. Refuse a timestamp more than 300 seconds off your clock.
6. Remember each \`webhook-id\`: a retry has the same one, and a delivery may come twice. A replay has a new one.
7. Answer 2xx within 10 seconds, and do slow work afterwards.`

const sent = { ...SIGNED, "x-trace-id": TRACE_ID }

const header = (name: keyof typeof sent, description: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
  example: sent[name]
})

const textOf = (ast: SchemaAST.Annotated, id: symbol): string => String(ast.annotations[id])

/** The delivery of an operational event. */
const operational = (schemas: Json) =>
  Object.fromEntries(
    Object.entries(operationalEvents).map(([eventType, { ast }]) => {
      const name = textOf(ast, SchemaAST.IdentifierAnnotationId)
      const payload = refOf(name)
      const text = (description: string) => ({ type: "string", description })
      const schema = {
        type: "object",
        required: ["deliveryId", "eventType", "payload"],
        properties: {
          deliveryId: text("Equal to `webhook-id`."),
          eventType: { ...text("The event's type."), const: eventType },
          payload
        }
      }
      const example = { deliveryId: exampleId("delivery"), eventType, payload: exampleOf(payload, schemas) }
      const post = {
        operationId: `receive${name}`,
        summary: eventType,
        description: `${textOf(ast, SchemaAST.DescriptionAnnotationId)}\n\nAn operational event, in the workspace that \`SYSTEM_WORKSPACE\` names. It is sent and signed like \`receiveDelivery\`.`,
        tags: ["Deliveries"],
        security: [],
        requestBody: { required: true, content: { "application/json": { schema, example } } },
        responses: { "2XX": { description: "Delivered." } }
      }
      return [eventType, { post }]
    })
  )

const delivery = {
  post: {
    operationId: "receiveDelivery",
    summary: "Receive a delivery",
    description: `What Posthorn posts to the URL of a webhook endpoint, once for each event that matches. Verify it before you use it:\n\n${VERIFYING}\n\nThis is the request of an endpoint whose \`request\` is null; otherwise that says which headers, body and signatures it has. Redirects are not followed. Any library of Standard Webhooks verifies it too.`,
    tags: ["Deliveries"],
    security: [],
    parameters: [
      header("webhook-id", "Id of the delivery: the same on every retry, new on a replay."),
      header("webhook-timestamp", "When it was signed, in Unix seconds; new for every attempt."),
      header("webhook-signature", "One `v1,<base64>` for each active secret, the current one first."),
      header("x-trace-id", "Quote it when you ask for help.")
    ],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: refOf("DeliveryRequest"),
          example: JSON.parse(DELIVERED)
        }
      }
    },
    responses: {
      "2XX": { description: "Delivered. The first 2 KiB of the body are kept with the attempt." },
      "408": {
        description:
          "Tried again, as after 429, 3xx, 5xx, a timeout, or no answer: 6 times, or as the endpoint's policy says."
      },
      "4XX": {
        description: "Refused for good, but for 408 and 429: `failed_permanent`, and not tried again."
      },
      "5XX": { description: "Tried again, later and later: 6 times, or as the endpoint's policy says." }
    }
  }
}

export const webhooksOf = (schemas: Json) => ({ delivery, ...operational(schemas) })
