/** The event catalogue: schemas and examples are stored and returned as the text that was sent. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import {
  CheckEventTypeSchemaBody,
  type EventTypeDocument,
  PutEventTypeBody
} from "@posthorn/api-contract/EventTypes"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { EventTypeDocuments } from "@posthorn/capabilities/EventTypeDocuments"
import { EventTypes, type PutEventType } from "@posthorn/capabilities/EventTypes"
import { SchemaTrials } from "@posthorn/capabilities/SchemaTrials"
import { JsonText } from "@posthorn/domain/JsonText"
import { Effect, Layer } from "effect"
import { matching } from "./EntityTag.ts"
import { exactBody } from "./ExactBody.ts"
import { answerOf, respond, toResponse } from "./Responses.ts"

const checkBody = exactBody("checkEventTypeSchema", CheckEventTypeSchemaBody)
const putBody = exactBody("putEventType", PutEventTypeBody)

const CREATED = 201

export const catalogueLive = HttpApiBuilder.group(Api, "catalogue", (handlers) =>
  Effect.map(Effect.all([EventTypes, EventTypeDocuments, SchemaTrials]), ([types, documents, trials]) =>
    handlers
      .handleRaw("putEventType", ({ headers, path, request }) =>
        Effect.gen(function* () {
          const body = withDefaults(yield* putBody(request)) as PutEventType
          const { created, eventType } = yield* types.put(path.eventType, body, matching(headers["if-match"]))
          const answer = answerOf("putEventType", eventType)
          return toResponse(created ? { ...answer, status: CREATED } : answer)
        })
      )
      .handle("getEventType", ({ path }) => Effect.map(types.get(path.eventType), respond("getEventType")))
      .handle("deleteEventType", ({ headers, path }) =>
        types.remove(path.eventType, matching(headers["if-match"]))
      )
      .handle("listCatalogue", ({ urlParams }) =>
        Effect.map(types.list(withDefaults(urlParams)), respond("listCatalogue"))
      )
      .handle("draftEventTypeSchema", ({ path, urlParams }) =>
        Effect.map(
          trials.draft(path.eventType, withDefaults(urlParams).events),
          respond("draftEventTypeSchema")
        )
      )
      .handleRaw("checkEventTypeSchema", ({ path, request }) =>
        Effect.flatMap(checkBody(request), ({ schema }) =>
          Effect.map(trials.check(path.eventType, schema as JsonText), respond("checkEventTypeSchema"))
        )
      )
      .handle("getWorkspaceEventType", ({ path }) =>
        Effect.map(types.getInWorkspace(path.eventType), respond("getWorkspaceEventType"))
      )
      .handle("getEventTypeDocument", ({ urlParams }) =>
        Effect.map(documents.get, (all) =>
          // The text of such a document, as a value that is written as it stands.
          respond("getEventTypeDocument")(
            new JsonText(all[withDefaults(urlParams).format]) as unknown as EventTypeDocument
          )
        )
      )
  )
).pipe(Layer.provide([EventTypes.Default, EventTypeDocuments.Default, SchemaTrials.Default]))
