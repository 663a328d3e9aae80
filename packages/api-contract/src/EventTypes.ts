/** The event catalogue: written by the operator, read by every workspace. Source: spec §6.2. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import {
  EventTypeNotFound,
  InvalidSchema,
  Issue,
  LimitReached,
  PreconditionFailed
} from "@posthorn/domain/Errors"
import { EventType as EventTypeName, isEventType } from "@posthorn/domain/EventType"
import { Schema } from "effect"
import { PAYLOAD, TIME } from "./Examples.ts"
import { Id, IdOrNull, Integer, NullOr, SlugOfWorkspace, Text, Timestamp } from "./Fields.ts"
import { OperatorGate, WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import {
  Clamped,
  ifMatch,
  JsonValue,
  Label,
  PageOf,
  pageQuery,
  Slug,
  Storable,
  strictRequest,
  withDefault,
  withStatus
} from "./Shapes.ts"

const SCHEMA = {
  type: "object",
  properties: { invoice: { type: "integer" }, amount: { type: "string" }, currency: { type: "string" } },
  required: ["invoice"]
}

/** With a hand-written JSON Schema: the library would give each item an `$id`. */
const payloads = (description: string, more: object = {}) => ({
  description,
  jsonSchema: { type: "array", items: {}, description, examples: [[PAYLOAD]], ...more },
  examples: [[PAYLOAD]] as const
})

export const Validation = Schema.Literal("off", "report", "refuse").annotations({
  description:
    "What happens to a payload that does not fit the schema: nothing, it is counted, or its publish is refused.",
  examples: ["report"]
})

/** Members that a list of types has too. */
export const described = {
  description: NullOr(Schema.String, "What happened when it is sent, for people.", "An invoice was paid."),
  group: NullOr(Schema.String, "The heading under which it is listed.", "Invoices"),
  deprecated: Schema.Boolean.annotations({
    description: "Whether it is not to be used any more.",
    examples: [false]
  }),
  validation: Validation
}

export const EventType = Schema.Struct({
  eventType: Text("Its name.", "invoice.paid"),
  ...described,
  schema: JsonValue.annotations({
    description: "JSON Schema 2020-12 of its payloads, as it was written; null without one.",
    examples: [SCHEMA]
  }),
  examples: Schema.Array(JsonValue).annotations(payloads("Payloads, the first for test sends.")),
  replacedBy: NullOr(Schema.String, "The event type to use instead.", null),
  hidden: Schema.Boolean.annotations({
    description: "Whether the operator alone sees it.",
    examples: [false]
  }),
  deviations: Schema.Struct({
    count: Integer("How many.", 3),
    since: NullOr(Timestamp, "When the first of them was published; null without any.", TIME),
    lastEventId: IdOrNull("event", "The newest of them; null without any.")
  }).annotations({
    description:
      "Payloads of the last 30 days that did not fit: to a workspace its own, to the operator those of all."
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotations({ identifier: "DescribedEventType", description: "What the catalogue says of an event type." })
export type EventType = typeof EventType.Type

const PutEventType = Schema.Struct({
  description: withDefault(
    Schema.NullOr(
      Storable.pipe(Schema.maxLength(2_000)).annotations({
        message: () => "Expected at most 2,000 characters, all valid Unicode and none NUL"
      })
    ).annotations({
      description: "For people; at most 2,000 characters.",
      examples: ["An invoice was paid."]
    }),
    null
  ),
  group: withDefault(
    Schema.NullOr(Label(100, "The heading under which it is listed.", "Invoices")).annotations({
      description: "The heading under which it is listed.",
      examples: ["Invoices"]
    }),
    null
  ),
  schema: Schema.optional(
    JsonValue.annotations({
      description:
        "Null, or a JSON Schema 2020-12 of at most 65,536 bytes; unknown keywords, remote references and `$dynamicRef` are refused.",
      examples: [SCHEMA]
    })
  ),
  examples: Schema.optional(
    Schema.Array(JsonValue)
      .pipe(Schema.maxItems(10))
      .annotations({
        ...payloads("At most 10 payloads that fit the schema, of 65,536 bytes together.", { maxItems: 10 }),
        message: () => "Expected at most 10 examples"
      })
  ),
  validation: withDefault(Validation, "off"),
  deprecated: withDefault(
    Schema.Boolean.annotations({ description: "Whether it is not to be used any more.", examples: [false] }),
    false
  ),
  replacedBy: withDefault(
    Schema.NullOr(EventTypeName).annotations({
      description: "The event type to use instead.",
      examples: ["invoice.settled"]
    }),
    null
  ),
  hidden: withDefault(
    Schema.Boolean.annotations({ description: "Whether the operator alone sees it.", examples: [false] }),
    false
  )
}).annotations({
  identifier: "PutEventType",
  examples: [{ description: "An invoice was paid.", group: "Invoices", schema: SCHEMA, validation: "report" }]
})
export const PutEventTypeBody = strictRequest(PutEventType)

const typeOrNone = (text: string) => (isEventType(text) ? text : "-")

/** Any text is accepted: one that is no event type is decoded to one that has no entry. PostgreSQL takes no NUL. */
const EventTypeParam = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: typeOrNone,
  encode: typeOrNone
}).annotations({
  description: "The event type.",
  jsonSchema: { type: "string", description: "The event type.", examples: ["invoice.paid"] }
})

const ofType = Schema.Struct({ eventType: EventTypeParam })

const putEventType = HttpApiEndpoint.put("putEventType", "/event-types/:eventType")
  .middleware(OperatorGate)
  .setPath(ofType)
  .setHeaders(Schema.Struct(ifMatch))
  .setPayload(PutEventTypeBody)
  .addSuccess(EventType)
  .addSuccess(withStatus(201, EventType))
  .addError(failure(InvalidSchema))
  .addError(failure(LimitReached))
  .addError(failure(PreconditionFailed))
  .annotate(OpenApi.Summary, "Describe an event type")
  .annotate(
    OpenApi.Description,
    "Replaces what the catalogue says of it; what is left out is reset to its default. 201 the first time. In force everywhere within a second; events that are there already are not judged again."
  )
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_write",
      tool: "put_event_type",
      toolset: "catalogue",
      tagged: true,
      guidance:
        "First check_event_type_schema: refuse stops publishers whose payloads do not fit. To change one member, send the others as get_catalogue_event_type has them.",
      destructive: true,
      idempotent: true,
      raw: [["schema"], ["examples", "*"]]
    })
  )

const getEventType = HttpApiEndpoint.get("getEventType", "/event-types/:eventType")
  .middleware(OperatorGate)
  .setPath(ofType)
  .addSuccess(EventType)
  .addError(failure(EventTypeNotFound))
  .annotate(OpenApi.Summary, "Get an event type of the catalogue")
  .annotate(OpenApi.Description, "With the deviations of all workspaces.")
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_read",
      tool: "get_catalogue_event_type",
      toolset: "catalogue",
      tagged: true,
      guidance: "Use it before put_event_type, which replaces the whole of it."
    })
  )

const deleteEventType = HttpApiEndpoint.del("deleteEventType", "/event-types/:eventType")
  .middleware(OperatorGate)
  .setPath(ofType)
  .setHeaders(Schema.Struct(ifMatch))
  .addSuccess(Schema.Void, { status: 204 })
  .addError(failure(EventTypeNotFound))
  .addError(failure(PreconditionFailed))
  .annotate(OpenApi.Summary, "Remove an event type from the catalogue")
  .annotate(
    OpenApi.Description,
    "Its events stay, and it can still be published; its payloads are not judged any more."
  )
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_write",
      tool: "delete_event_type",
      toolset: "catalogue",
      guidance: "Ask the user first.",
      destructive: true
    })
  )

const listCatalogue = HttpApiEndpoint.get("listCatalogue", "/event-types")
  .middleware(OperatorGate)
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(PageOf("DescribedEventType", EventType))
  .annotate(OpenApi.Summary, "List the catalogue")
  .annotate(OpenApi.Description, "By name, hidden ones too, with the deviations of all workspaces.")
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_read",
      tool: "list_catalogue",
      toolset: "catalogue",
      guidance: "deviations.count above 0 means that real payloads do not fit the schema."
    })
  )

const getWorkspaceEventType = HttpApiEndpoint.get(
  "getWorkspaceEventType",
  "/workspaces/:slug/event-types/:eventType"
)
  .middleware(WorkspaceGate)
  .setPath(Schema.Struct({ slug: Slug, eventType: EventTypeParam }))
  .addSuccess(EventType)
  .addError(failure(EventTypeNotFound))
  .annotate(OpenApi.Summary, "Get an event type")
  .annotate(OpenApi.Description, "What its payloads look like, with the workspace's own deviations.")
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "get_event_type",
      toolset: "catalogue",
      tagged: true,
      guidance: "Use it to build a receiver: schema and examples say what a payload holds."
    })
  )

export const DOCUMENT_FORMATS = ["openapi", "asyncapi"] as const

const ANY_OTHER = { key: Schema.String, value: Schema.Unknown.annotations({ jsonSchema: {} }) } as const

const EventTypeDocument = Schema.Struct(
  {
    info: Schema.Struct(
      {
        title: Text("Always the same.", "Webhooks"),
        version: Text("Rises with each change of the catalogue.", "12"),
        description: Text(
          "How payloads arrive.",
          "What each event type means, and what its payloads look like."
        )
      },
      // AsyncAPI has `tags` here.
      ANY_OTHER
    ).annotations({ description: "What the document is about." })
  },
  ANY_OTHER
).annotations({
  identifier: "EventTypeDocument",
  description: "OpenAPI 3.1 with `webhooks`, or AsyncAPI 3.0."
})
export type EventTypeDocument = typeof EventTypeDocument.Type

const getEventTypeDocument = HttpApiEndpoint.get(
  "getEventTypeDocument",
  "/workspaces/:slug/event-type-document"
)
  .middleware(WorkspaceGate)
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(
    strictRequest(
      Schema.Struct({
        format: withDefault(
          Schema.Literal(...DOCUMENT_FORMATS).annotations({
            description: "Which kind of document.",
            message: () => ({ message: "Expected openapi or asyncapi", override: true })
          }),
          "openapi"
        )
      })
    )
  )
  .addSuccess(EventTypeDocument)
  .annotate(OpenApi.Summary, "Get the catalogue as a document")
  .annotate(
    OpenApi.Description,
    "Every described event type, for generators of code and documentation; hidden ones are left out. At most a second old."
  )
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "get_event_type_document",
      toolset: "catalogue",
      guidance: "It may be long: get_event_type shows a single type."
    })
  )

const DraftedSchema = Schema.Struct({
  schema: JsonValue.annotations({
    description: "Every event that was examined fits it.",
    examples: [SCHEMA]
  }),
  examined: Integer("How many events it was drafted from.", 200)
}).annotations({ identifier: "DraftedSchema" })

const draftEventTypeSchema = HttpApiEndpoint.get(
  "draftEventTypeSchema",
  "/event-types/:eventType/draft-schema"
)
  .middleware(OperatorGate)
  .setPath(ofType)
  .setUrlParams(
    strictRequest(
      Schema.Struct({
        events: withDefault(
          Clamped("How many of the newest events, of all workspaces.", {
            min: 1,
            max: 1_000,
            otherwise: 200
          }),
          200
        )
      })
    )
  )
  .addSuccess(DraftedSchema)
  .addError(failure(EventTypeNotFound))
  .annotate(OpenApi.Summary, "Draft a schema from real events")
  .annotate(
    OpenApi.Description,
    "From the newest events of all workspaces: the types of each member, and which were always there. The type need not be described."
  )
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_read",
      tool: "draft_event_type_schema",
      toolset: "catalogue",
      guidance: "Use it to begin a schema; next, check_event_type_schema."
    })
  )

const CheckEventTypeSchema = Schema.Struct({
  schema: JsonValue.annotations({ description: "The schema to try.", examples: [SCHEMA] })
}).annotations({ identifier: "CheckEventTypeSchema" })
export const CheckEventTypeSchemaBody = strictRequest(CheckEventTypeSchema)

const CheckedSchema = Schema.Struct({
  examined: Integer("How many of the newest events were tried, at most 200.", 200),
  fitting: Integer("How many of them fit.", 199),
  deviating: Schema.Array(
    Schema.Struct({
      eventId: Id("event", "The event."),
      workspace: SlugOfWorkspace.annotations({ description: "Slug of its workspace." }),
      issues: Schema.Array(Issue).annotations({
        description: "What does not fit, at most 20.",
        examples: [[{ path: "/total", message: "must be integer" }]]
      })
    })
  ).annotations({ description: "Those that do not fit, newest first." }),
  changes: Schema.Array(
    Schema.Struct({
      path: Text("Within the payload; `*` stands for any element or unnamed member.", "/lines/*/price"),
      change: Schema.Literal("added", "removed", "narrowed", "widened").annotations({
        description: "Described anew or no longer, or fewer or more values fit.",
        examples: ["narrowed"]
      })
    })
  ).annotations({ description: "How it differs from the present schema." })
}).annotations({ identifier: "CheckedSchema" })

const checkEventTypeSchema = HttpApiEndpoint.post(
  "checkEventTypeSchema",
  "/event-types/:eventType/check-schema"
)
  .middleware(OperatorGate)
  .setPath(ofType)
  .setPayload(CheckEventTypeSchemaBody)
  .addSuccess(CheckedSchema)
  .addError(failure(InvalidSchema))
  .annotate(OpenApi.Summary, "Try a schema on real events")
  .annotate(
    OpenApi.Description,
    "Judges the newest 200 events of all workspaces by it, and compares it with the present one. Changes nothing."
  )
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_read",
      tool: "check_event_type_schema",
      toolset: "catalogue",
      readOnly: true,
      idempotent: true,
      guidance: "Use it before put_event_type: what deviates here would be refused or counted.",
      raw: [["schema"]]
    })
  )

export class CatalogueApi extends HttpApiGroup.make("catalogue")
  .add(putEventType)
  .add(getEventType)
  .add(deleteEventType)
  .add(listCatalogue)
  .add(draftEventTypeSchema)
  .add(checkEventTypeSchema)
  .add(getWorkspaceEventType)
  .add(getEventTypeDocument)
  .annotate(OpenApi.Title, "Event catalogue")
  .annotate(OpenApi.Description, "What each event type means, and what its payloads look like.") {}
