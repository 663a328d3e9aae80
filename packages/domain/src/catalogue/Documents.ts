/**
 * The catalogue as an OpenAPI 3.1 document with `webhooks`, and as an AsyncAPI 3.0 document. Both describe the body that receivers
 * get unless an endpoint's request profile changes it (spec §2.4); the payload's schema is a component named like the event type.
 * References of a schema are rewritten to lead to the same place within the document. Pure.
 */
import type { DescribedType } from "./DescribedType.ts"
import { type JsonSchema, mapSubschemas, referencesOf, type SchemaObject } from "./JsonSchema.ts"

interface About {
  readonly title: string
  readonly version: string
}

const INFO = "The webhooks that this service sends. Each request is signed: https://www.standardwebhooks.com."

const place = (eventType: string) => `#/components/schemas/${eventType}`

/** The schema as a component: names that hold within it alone would mean something else in the document. */
export const componentOf = ({ eventType, schema }: DescribedType): JsonSchema => {
  if (schema === null) return {}
  const targetOf = referencesOf(schema)
  const moved = (one: JsonSchema): JsonSchema => {
    if (typeof one === "boolean") return one
    const { $anchor: _, $comment: _1, $id: _2, $ref, $schema: _3, ...rest } = one
    const target = $ref === undefined ? undefined : targetOf(one)
    return {
      ...(target !== undefined && { $ref: place(eventType) + pointerInUri(target.pointer) }),
      ...mapSubschemas(rest, moved)
    }
  }
  // As the whole component a boolean is refused by some tools.
  const made = moved(schema)
  return made === true ? {} : made === false ? { not: {} } : made
}

const pointerInUri = (pointer: string) => pointer.split("/").map(encodeURIComponent).join("/")

const body = ({ eventType }: DescribedType): SchemaObject => ({
  type: "object",
  properties: {
    deliveryId: { type: "string", description: "The same on every automatic retry." },
    eventType: { type: "string", const: eventType },
    payload: { $ref: place(eventType) }
  },
  required: ["deliveryId", "eventType", "payload"]
})

const example = (eventType: string, payload: unknown) => ({
  deliveryId: "whd_64401b2c93f5e0b7d1c4a98e62f03",
  eventType,
  payload
})

const HEADERS = {
  "webhook-id": { type: "string", description: "Identifies the delivery, for finding repetitions." },
  "webhook-timestamp": { type: "string", description: "Unix seconds when this attempt was signed." },
  "webhook-signature": {
    type: "string",
    description: "`v1,<base64>` for each secret in use, separated by spaces."
  }
}

const groupsOf = (types: ReadonlyArray<DescribedType>) =>
  [...new Set(types.flatMap(({ group }) => group ?? []))].map((name) => ({ name, description: name }))

const said = ({ description, replacedBy }: DescribedType) => ({
  ...(description !== null && { description }),
  ...(replacedBy !== null && { "x-replaced-by": replacedBy })
})

type Components = Readonly<Record<string, JsonSchema>>

const schemasOf = (types: ReadonlyArray<DescribedType>): Components =>
  Object.fromEntries(types.map((type) => [type.eventType, componentOf(type)]))

/** `schemas`: by event type, where `componentOf` made them already. */
export const openApiDocument = (
  types: ReadonlyArray<DescribedType>,
  about: About,
  schemas = schemasOf(types)
): SchemaObject => ({
  openapi: "3.1.0",
  info: { ...about, description: INFO },
  servers: [
    {
      url: "{endpoint}",
      variables: {
        endpoint: { default: "https://receiver.invalid/webhooks", description: "An endpoint's URL." }
      }
    }
  ],
  tags: groupsOf(types),
  webhooks: Object.fromEntries(
    types.map((type) => [
      type.eventType,
      {
        post: {
          operationId: type.eventType,
          summary: type.eventType,
          ...said(type),
          ...(type.group !== null && { tags: [type.group] }),
          ...(type.deprecated && { deprecated: true }),
          security: [],
          parameters: Object.keys(HEADERS).map((name) => ({ $ref: `#/components/parameters/${name}` })),
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: body(type),
                ...(type.examples.length > 0 && {
                  examples: Object.fromEntries(
                    type.examples.map((payload, index) => [
                      `example${index + 1}`,
                      { value: example(type.eventType, payload) }
                    ])
                  )
                })
              }
            }
          },
          responses: {
            "2XX": { description: "Received. Anything else is tried again." },
            "4XX": { description: "Refused." }
          }
        }
      }
    ])
  ),
  components: {
    parameters: Object.fromEntries(
      Object.entries(HEADERS).map(([name, { description, ...schema }]) => [
        name,
        { name, in: "header", required: true, description, schema }
      ])
    ),
    schemas
  }
})

export const asyncApiDocument = (
  types: ReadonlyArray<DescribedType>,
  about: About,
  schemas = schemasOf(types)
): SchemaObject => ({
  asyncapi: "3.0.0",
  info: { ...about, description: INFO, tags: groupsOf(types) },
  defaultContentType: "application/json",
  channels: {
    endpoint: {
      address: null,
      description: "The URL of an endpoint.",
      messages: Object.fromEntries(
        types.map(({ eventType }) => [eventType, { $ref: `#/components/messages/${eventType}` }])
      )
    }
  },
  operations: {
    deliver: {
      action: "send",
      channel: { $ref: "#/channels/endpoint" },
      summary: "POSTs an event to an endpoint that wants its type."
    }
  },
  components: {
    messages: Object.fromEntries(
      types.map((type) => [
        type.eventType,
        {
          name: type.eventType,
          title: type.eventType,
          ...said(type),
          ...(type.group !== null && { tags: [{ name: type.group }] }),
          contentType: "application/json",
          headers: { type: "object", properties: HEADERS, required: Object.keys(HEADERS) },
          payload: { ...body(type), ...(type.deprecated && { deprecated: true }) },
          ...(type.examples.length > 0 && {
            examples: type.examples.map((payload) => ({ payload: example(type.eventType, payload) }))
          })
        }
      ])
    ),
    schemas
  }
})
