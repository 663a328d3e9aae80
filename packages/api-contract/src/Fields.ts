/**
 * Members that many answers share, with their meaning and an example. OpenAPI's descriptions and examples come from these
 * annotations; tools omit them (`server/mcp/ToolSchemas`). A shape may override a description.
 */
import type { Noun } from "@posthorn/domain/Ids"
import { Role } from "@posthorn/domain/Permission"
import { ActorType, Via } from "@posthorn/domain/Principal"
import { Schema } from "effect"
import { A_YEAR_LATER, exampleId, TIME, TRACE_ID } from "./Examples.ts"

export const Text = (description: string, example: string) =>
  Schema.String.annotations({ description, examples: [example] })

/** RFC 3339, UTC, milliseconds. */
export const Timestamp = Schema.String.annotations({
  description: "RFC 3339 in UTC with milliseconds.",
  jsonSchema: { format: "date-time" },
  examples: [TIME]
})

/** This, or null. */
export const NullOr = <A, I>(schema: Schema.Schema<A, I>, description: string, example: NoInfer<A> | null) =>
  Schema.NullOr(schema).annotations({ description, examples: [example] })

/** A whole number without the component name that `Schema.Int` would leak into OpenAPI. */
export const Integer = (description: string, example: number) =>
  Schema.Number.annotations({
    description,
    jsonSchema: { type: "integer", description, examples: [example] }
  })

export const IntegerOrNull = (description: string, example: number | null) =>
  NullOr(Schema.Number.annotations({ jsonSchema: { type: "integer" } }), description, example)

export const Id = (noun: Noun, description = "Its id; newer ones are greater.") =>
  Text(description, exampleId(noun))

export const IdOrNull = (noun: Noun, description: string, example: string | null = exampleId(noun)) =>
  NullOr(Schema.String, description, example)

export const EndpointId = Id("endpoint", "Id of the webhook endpoint.")

export const DeliveryId = Id("delivery", "Id of the delivery.")

export const RoleOfMember = Role.annotations({ identifier: "Role", examples: ["developer"] })

export const SlugOfWorkspace = Text("Part of every path of the workspace.", "acme")

export const TypeOfEvent = Text("Dotted words such as `invoice.paid`.", "invoice.paid")

export const TraceId = Text(
  "What carries it belongs to the same publish, replay, test send or call.",
  TRACE_ID
)

export const ExpiresAt = NullOr(Timestamp, "When it ends; null when it does not.", A_YEAR_LATER)

/** Who did something, and through which transport. */
export const actorFields = {
  type: ActorType.annotations({ description: "Its kind." }),
  id: Text("Id of the token or the member; for others a word such as `operator`.", exampleId("token")),
  via: Via.annotations({ description: "The transport it came through." })
}
