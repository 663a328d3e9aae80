/** Workspaces: the operator's operations. Source: spec §5.1 and §4.2. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { IdempotencyKeyInUse, IdempotencyKeyReused, WorkspaceSlugTaken } from "@posthorn/domain/Errors"
import { SLUG_PATTERN } from "@posthorn/domain/Slug"
import { Schema } from "effect"
import { Id, Integer, IntegerOrNull, SlugOfWorkspace, Text, Timestamp } from "./Fields.ts"
import { OperatorGate, WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { idempotencyKey, Label, PageOf, pageQuery, Slug, strictRequest, withStatus } from "./Shapes.ts"

export const Workspace = Schema.Struct({
  id: Id("workspace"),
  slug: SlugOfWorkspace,
  name: Text("For people.", "Acme Inc."),
  limits: Schema.Struct({
    endpoints: IntegerOrNull("Most endpoints.", null),
    tokens: IntegerOrNull("Most API tokens that are neither revoked nor expired.", null),
    waiting: IntegerOrNull("Most deliveries that wait.", 100_000),
    bytes: IntegerOrNull("Most bytes of payloads that are kept.", null),
    publishPerMinute: IntegerOrNull("Most calls that publish, within a minute.", 6_000)
  }).annotations({ description: "Its own limits; null is the installation's." }),
  createdAt: Timestamp
}).annotations({
  identifier: "Workspace",
  description: "One customer of the platform: its endpoints, deliveries, tokens and members."
})
export type Workspace = typeof Workspace.Type

const CreateWorkspace = Schema.Struct({
  slug: Schema.String.pipe(Schema.pattern(SLUG_PATTERN)).annotations({
    description: "Lower-case letters, digits and inner hyphens; at most 48 characters; part of every path.",
    examples: ["acme"],
    message: () => "Expected lower-case letters, digits and inner hyphens, at most 48 characters"
  }),
  name: Label(200, "For people.", "Acme Inc.")
}).annotations({ identifier: "CreateWorkspace" })

const createWorkspace = HttpApiEndpoint.post("createWorkspace", "/workspaces")
  .middleware(OperatorGate)
  .setHeaders(Schema.Struct(idempotencyKey))
  .setPayload(strictRequest(CreateWorkspace))
  .addSuccess(withStatus(201, Workspace))
  .addError(failure(WorkspaceSlugTaken))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Create a workspace")
  .annotate(OpenApi.Description, "A workspace is one customer of the platform.")
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_write",
      tool: "create_workspace",
      toolset: "operator",
      guidance: "Use it for a new customer; next, create_api_token with its slug gives that customer a token."
    })
  )

const WorkspacePage = PageOf("Workspace", Workspace)

const listWorkspaces = HttpApiEndpoint.get("listWorkspaces", "/workspaces")
  .middleware(OperatorGate)
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(WorkspacePage)
  .annotate(OpenApi.Summary, "List workspaces")
  .annotate(OpenApi.Description, "Forward on id, so in the order they were created.")
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_read",
      tool: "list_workspaces",
      toolset: "operator",
      guidance: "Use it to find the slug that every other tool asks for."
    })
  )

const FleetWorkspace = Schema.Struct({
  id: Id("workspace"),
  slug: SlugOfWorkspace,
  name: Text("For people.", "Acme Inc."),
  waiting: Integer("Deliveries that still have an attempt to come; may be 2 seconds old.", 1_204),
  oldestWaitingSeconds: IntegerOrNull("Since the oldest of them was made; null if none waits.", 37),
  endpoints: Schema.Struct({
    total: Integer("All of them.", 12),
    disabled: Integer("Those that are disabled, by people or for their failures.", 1),
    failing: Integer("Those that are enabled and have failed at least 3 times in a row.", 2)
  }).annotations({ description: "Its endpoints." })
}).annotations({ identifier: "FleetWorkspace", description: "How one workspace is doing." })

const listFleet = HttpApiEndpoint.get("listFleet", "/fleet")
  .middleware(OperatorGate)
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(PageOf("FleetWorkspace", FleetWorkspace))
  .annotate(OpenApi.Summary, "List workspaces by what waits")
  .annotate(OpenApi.Description, "Those with the most waiting deliveries first, then by id.")
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_read",
      tool: "list_fleet",
      toolset: "operator",
      guidance: "Use it to see which customers have a backlog or failing endpoints."
    })
  )

const Limit = (description: string, most: number, example: number) =>
  Schema.optional(
    Schema.NullOr(
      Schema.Number.pipe(Schema.int(), Schema.between(1, most)).annotations({
        message: () => `Expected a whole number from 1 to ${most}`
      })
    ).annotations({ description, examples: [example] })
  )

const INTEGER_MOST = 2_147_483_647

const UpdateWorkspace = Schema.Struct({
  name: Schema.optional(Label(200, "For people.", "Acme Inc.")),
  limits: Schema.optionalWith(
    Schema.Struct({
      endpoints: Limit("Most endpoints.", INTEGER_MOST, 50),
      tokens: Limit("Most API tokens that are neither revoked nor expired.", INTEGER_MOST, 100),
      waiting: Limit("Most deliveries that wait.", Number.MAX_SAFE_INTEGER, 100_000),
      bytes: Limit("Most bytes of payloads that are kept.", Number.MAX_SAFE_INTEGER, 1_000_000_000),
      publishPerMinute: Limit("Most calls that publish, within a minute.", INTEGER_MOST, 6_000)
    }).annotations({ description: "Null is the installation's; what is left out stays as it is." }),
    { exact: true }
  )
}).annotations({ identifier: "UpdateWorkspace", examples: [{ limits: { waiting: 100_000 } }] })

const updateWorkspace = HttpApiEndpoint.patch("updateWorkspace", "/workspaces/:slug")
  .middleware(WorkspaceGate)
  .setPath(Schema.Struct({ slug: Slug }))
  .setPayload(strictRequest(UpdateWorkspace))
  .addSuccess(Workspace)
  .annotate(OpenApi.Summary, "Rename a workspace, or limit it")
  .annotate(
    OpenApi.Description,
    "In force everywhere within a second. What is there already stays, also above a new limit. Its slug never changes."
  )
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_write",
      tool: "update_workspace",
      toolset: "operator",
      guidance: "Use it when one customer takes more than its share.",
      destructive: true,
      idempotent: true
    })
  )

const deleteWorkspace = HttpApiEndpoint.del("deleteWorkspace", "/workspaces/:slug")
  .middleware(WorkspaceGate)
  .setPath(Schema.Struct({ slug: Slug }))
  .addSuccess(Schema.Void, { status: 204 })
  .annotate(OpenApi.Summary, "Delete a workspace")
  .annotate(
    OpenApi.Description,
    "Removes everything in it: endpoints, deliveries, attempts, tokens, members and the audit log."
  )
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_write",
      tool: "delete_workspace",
      toolset: "operator",
      guidance: "It cannot be undone: ask the user first, by name.",
      destructive: true
    })
  )

export class WorkspacesApi extends HttpApiGroup.make("workspaces")
  .add(createWorkspace)
  .add(listWorkspaces)
  .add(listFleet)
  .add(updateWorkspace)
  .add(deleteWorkspace)
  .annotate(OpenApi.Title, "Workspaces")
  .annotate(OpenApi.Description, "One workspace per customer; made by the operator.") {}
