/** The sessions of the console: who is signed in, and ending one. Source: spec §4.2 and §11. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { ConsoleSessionNotFound } from "@posthorn/domain/Errors"
import { Role } from "@posthorn/domain/Permission"
import { Maker } from "@posthorn/domain/Principal"
import { Schema } from "effect"
import { exampleId } from "./Examples.ts"
import { Id, IdOrNull, NullOr, Text, Timestamp } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, PageOf, pageQuery, Slug, strictRequest } from "./Shapes.ts"

export const ConsoleSession = Schema.Struct({
  id: Id("consoleSession"),
  memberId: IdOrNull("member", "The member who is signed in; null when it is no member."),
  role: NullOr(
    Role,
    "The role whose rights it has; null if it has a token's rights, or scopes.",
    "developer"
  ),
  via: Schema.Literal("link", "token").annotations({
    description: "What opened it: a console link, or an API token.",
    examples: ["link"]
  }),
  madeBy: Schema.Struct({
    type: Maker.fields.type.annotations({ description: "Its kind." }),
    id: Text("Id of the token or the member; `operator` for the operator.", exampleId("token"))
  }).annotations({ description: "Who made the link, or the token that signed in." }),
  createdAt: Timestamp,
  lastSeenAt: Timestamp.annotations({ description: "When it last called, to the minute." }),
  expiresAt: Timestamp.annotations({ description: "When it ends at the latest." })
}).annotations({ identifier: "ConsoleSession", description: "A browser that is signed in to the console." })
export type ConsoleSession = typeof ConsoleSession.Type

const ConsoleSessionPage = PageOf("ConsoleSession", ConsoleSession)

const listConsoleSessions = HttpApiEndpoint.get("listConsoleSessions", "/workspaces/:slug/console-sessions")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(ConsoleSessionPage)
  .annotate(OpenApi.Summary, "List console sessions")
  .annotate(OpenApi.Description, "Who is signed in to the console now, newest first. Never with a secret.")
  .annotateContext(
    operation({
      permission: "member:list",
      bucket: "rest_read",
      tool: "list_console_sessions",
      toolset: "manage",
      guidance: "Use it to find a session to end."
    })
  )

const endConsoleSession = HttpApiEndpoint.del(
  "endConsoleSession",
  "/workspaces/:slug/console-sessions/:sessionId"
)
  .setPath(Schema.Struct({ slug: Slug, sessionId: IdParam("consoleSession") }))
  .addSuccess(Schema.Void, { status: 204 })
  .addError(failure(ConsoleSessionNotFound))
  .annotate(OpenApi.Summary, "End a console session")
  .annotate(
    OpenApi.Description,
    "Also ends what was made in it: links, sessions and tokens. Callers may end their own sessions; those who manage members, any."
  )
  .annotateContext(
    operation({
      permission: "any",
      bucket: "rest_write",
      tool: "end_console_session",
      toolset: "manage",
      guidance: "Ask the user first.",
      destructive: true,
      idempotent: true
    })
  )

export class ConsoleSessionsApi extends HttpApiGroup.make("consoleSessions")
  .add(listConsoleSessions)
  .add(endConsoleSession)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Console sessions")
  .annotate(OpenApi.Description, "Who is signed in to the console.") {}
