/** Workspaces: the operator's operations. Source: decision §3 and §4. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { WorkspaceSlugTaken } from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { Timestamp } from "./Wire.ts"

export const SLUG_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$/

export const Workspace = Schema.Struct({
  id: Schema.String,
  slug: Schema.String,
  name: Schema.String,
  createdAt: Timestamp
}).annotations({ identifier: "Workspace", description: "One customer of the platform: its endpoints, deliveries, tokens and members." })
export type Workspace = typeof Workspace.Type

export const CreateWorkspace = Schema.Struct({
  slug: Schema.String.pipe(Schema.pattern(SLUG_PATTERN)).annotations({
    description: "Lower-case letters, digits and inner hyphens; at most 48 characters; part of every path.",
    examples: ["acme"],
    message: () => "Expected lower-case letters, digits and inner hyphens, at most 48 characters"
  }),
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)).annotations({
    description: "For people.",
    examples: ["Acme Inc."],
    message: () => "Expected 1 to 200 characters"
  })
}).annotations({ identifier: "CreateWorkspace" })

const createWorkspace = HttpApiEndpoint.post("createWorkspace", "/workspaces")
  .setPayload(CreateWorkspace)
  .addSuccess(Workspace, { status: 201 })
  .addError(failure(WorkspaceSlugTaken))
  .annotate(OpenApi.Summary, "Create a workspace")
  .annotate(OpenApi.Description, "A workspace is one customer of the platform. Needs the operator's token.")
  .annotateContext(operation({ permission: "operator", bucket: "rest_write", tool: null }))

export class WorkspacesApi extends HttpApiGroup.make("Workspaces")
  .add(createWorkspace)
  .annotate(OpenApi.Description, "One workspace per customer; made by the operator.") {}
