/** Links that open the console once. Source: spec §4.2, §11 and §5.2. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import {
  consolePages,
  EmbeddingOrigin,
  MOST_ORIGINS,
  ConsolePage as Page,
  ConsoleTheme as Theme
} from "@posthorn/domain/ConsoleView"
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  MemberNotFound,
  WebhookEndpointNotFound
} from "@posthorn/domain/Errors"
import { Scope } from "@posthorn/domain/Permission"
import { Schema } from "effect"
import { exampleId } from "./Examples.ts"
import { RoleOfMember, Text, Timestamp } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, idempotencyKey, Label, Slug, strictRequest, withStatus } from "./Shapes.ts"

const MAX_SECONDS = 3600
const MOST_ENDPOINTS = 100

const ORIGIN_MESSAGE =
  "Expected an origin such as https://app.example.com; http only for localhost or 127.0.0.1"

const ConsoleTheme = Theme.annotations({
  identifier: "ConsoleTheme",
  description: "How the pages look.",
  examples: [{ accent: "#0a7d5a", colorScheme: "light", radius: 8 }]
})

const CreateConsoleLink = Schema.Struct({
  memberId: Schema.optional(
    IdParam("member", "Signs in as this member, with the role the member has at the time.")
  ),
  role: Schema.optional(RoleOfMember),
  scopes: Schema.optional(
    Schema.Array(Scope)
      .pipe(Schema.minItems(1), Schema.maxItems(50))
      .annotations({ description: "Permissions or bundles.", examples: [["read", "webhook:list"]] })
  ),
  expiresInSeconds: Schema.optional(
    Schema.Number.pipe(Schema.int(), Schema.between(1, MAX_SECONDS)).annotations({
      description: "How many seconds the link waits to be opened. Default 600.",
      default: 600,
      message: () => `Expected a whole number from 1 to ${MAX_SECONDS}`
    })
  ),
  embedIn: Schema.optional(
    Schema.Array(EmbeddingOrigin.annotations({ message: () => ORIGIN_MESSAGE }))
      .pipe(Schema.minItems(1), Schema.maxItems(MOST_ORIGINS))
      .annotations({
        description: "Makes a link for a frame: it opens only within pages of these origins.",
        examples: [["https://app.example.com"]]
      })
  ),
  pages: Schema.optional(
    Schema.Array(Page)
      .pipe(Schema.minItems(1), Schema.maxItems(consolePages.length))
      .annotations({
        description: "The pages that exist for it. Default: all.",
        examples: [["endpoints", "deliveries"]]
      })
  ),
  endpointIds: Schema.optional(
    Schema.Array(IdParam("endpoint"))
      .pipe(Schema.minItems(1), Schema.maxItems(MOST_ENDPOINTS))
      .annotations({
        description:
          "The only endpoints that exist for it, in every operation. It makes no endpoints, tokens and links, and publishes nothing.",
        examples: [[exampleId("endpoint")]]
      })
  ),
  theme: Schema.optional(ConsoleTheme),
  to: Schema.optional(
    Label(512, "Where it begins: a page, or a path below the workspace, that it may see.", "deliveries")
  )
}).annotations({
  identifier: "CreateConsoleLink",
  description:
    "Whose rights the link gives: a member's, a role's, these scopes', or, with none of them, your own.",
  examples: [
    {
      role: "developer",
      embedIn: ["https://app.example.com"],
      pages: ["endpoints", "deliveries"],
      endpointIds: [exampleId("endpoint")],
      to: "endpoints"
    }
  ]
})

export const ConsoleLink = Schema.Struct({
  url: Text(
    "Opens the console once. Whoever opens it is signed in, so give it to nobody else.",
    "https://hooks.example.com/console/sign-in#code=…"
  ),
  expiresAt: Timestamp.annotations({ description: "Until then it can be opened." })
}).annotations({ identifier: "ConsoleLink" })
export type ConsoleLink = typeof ConsoleLink.Type

const createConsoleLink = HttpApiEndpoint.post("createConsoleLink", "/workspaces/:slug/console-links")
  .setPath(Schema.Struct({ slug: Slug }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .setPayload(strictRequest(CreateConsoleLink))
  .addSuccess(withStatus(201, ConsoleLink))
  .addError(failure(MemberNotFound))
  .addError(failure(WebhookEndpointNotFound))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Create a console link")
  .annotate(
    OpenApi.Description,
    "A link that signs one browser in to the console, once, or one frame of another page (`embedIn`). One that grants more than the caller may do is refused."
  )
  .annotateContext(
    operation({
      permission: "console:link",
      bucket: "rest_write",
      tool: "create_console_link",
      toolset: "manage",
      guidance: "Use it when the user wants to look for themselves: give them the url, which works once.",
      secret: "url",
      // An agent gives the link to a person, who opens it; frames are made by a platform's program.
      notInTool: { body: ["embedIn", "theme"], answer: [] }
    })
  )

export class ConsoleLinksApi extends HttpApiGroup.make("consoleLinks")
  .add(createConsoleLink)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Console")
  .annotate(OpenApi.Description, "Letting people in to the console.") {}
