/** Members: the people of a workspace, for the console. Source: spec §2.6, §4, §4.2 and §11. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  MemberEmailTaken,
  MemberNotFound
} from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { Id, RoleOfMember, Text } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import {
  IdParam,
  idempotencyKey,
  Label,
  PageOf,
  pageQuery,
  Slug,
  strictRequest,
  withStatus
} from "./Shapes.ts"

export const Member = Schema.Struct({
  id: Id("member"),
  email: Text("Compared without regard to upper and lower case.", "ada@example.com"),
  name: Text("For people.", "Ada Lovelace"),
  role: RoleOfMember
}).annotations({ identifier: "Member", description: "A person who may use the console." })
export type Member = typeof Member.Type

const MemberPage = PageOf("Member", Member)

/** Only as strict as needed to tell an address from other text: only sending mail can tell whether it exists. */
const Email = Schema.String.pipe(
  Schema.maxLength(254),
  Schema.pattern(/^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]+$/u)
).annotations({
  description: "Unique in the workspace, whatever the case of its letters; at most 254 characters.",
  examples: ["ada@example.com"],
  jsonSchema: { format: "email" },
  message: () => "Expected an email address such as ada@example.com, at most 254 characters"
})

const Name = Label(200, "For people.", "Ada Lovelace")

const AddMember = Schema.Struct({ email: Email, name: Name, role: RoleOfMember }).annotations({
  identifier: "AddMember"
})

const UpdateMember = Schema.Struct({
  email: Schema.optional(Email),
  name: Schema.optional(Name),
  role: Schema.optional(RoleOfMember)
}).annotations({ identifier: "UpdateMember", examples: [{ name: "Ada Lovelace", role: "admin" }] })

const inMember = Schema.Struct({ slug: Slug, memberId: IdParam("member") })

const listMembers = HttpApiEndpoint.get("listMembers", "/workspaces/:slug/members")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(MemberPage)
  .annotate(OpenApi.Summary, "List members")
  .annotate(OpenApi.Description, "Forward on id, so in the order they were added.")
  .annotateContext(
    operation({
      permission: "member:list",
      bucket: "rest_read",
      tool: "list_members",
      toolset: "manage",
      guidance: "Use it to find a member's id."
    })
  )

const addMember = HttpApiEndpoint.post("addMember", "/workspaces/:slug/members")
  .setPath(Schema.Struct({ slug: Slug }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .setPayload(strictRequest(AddMember))
  .addSuccess(withStatus(201, Member))
  .addError(failure(MemberEmailTaken))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Add a member")
  .annotate(OpenApi.Description, "Nothing is mailed to them: create a console link to let them in.")
  .annotateContext(
    operation({
      permission: "member:manage",
      bucket: "rest_write",
      tool: "add_member",
      toolset: "manage",
      guidance: "Use it when the user asks to give somebody access."
    })
  )

const updateMember = HttpApiEndpoint.patch("updateMember", "/workspaces/:slug/members/:memberId")
  .setPath(inMember)
  .setPayload(strictRequest(UpdateMember))
  .addSuccess(Member)
  .addError(failure(MemberNotFound))
  .addError(failure(MemberEmailTaken))
  .annotate(OpenApi.Summary, "Update a member")
  .annotate(
    OpenApi.Description,
    "Changes only the members that are sent. A new role takes effect at the member's next request."
  )
  .annotateContext(
    operation({
      permission: "member:manage",
      bucket: "rest_write",
      tool: "update_member",
      toolset: "manage",
      guidance: "Use it to change a role, a name or an address.",
      idempotent: true
    })
  )

const removeMember = HttpApiEndpoint.del("removeMember", "/workspaces/:slug/members/:memberId")
  .setPath(inMember)
  .addSuccess(Schema.Void, { status: 204 })
  .addError(failure(MemberNotFound))
  .annotate(OpenApi.Summary, "Remove a member")
  .annotate(OpenApi.Description, "They can no longer use the console; what they did stays in the audit log.")
  .annotateContext(
    operation({
      permission: "member:manage",
      bucket: "rest_write",
      tool: "remove_member",
      toolset: "manage",
      guidance: "Ask the user first.",
      destructive: true
    })
  )

export class MembersApi extends HttpApiGroup.make("members")
  .add(listMembers)
  .add(addMember)
  .add(updateMember)
  .add(removeMember)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Members")
  .annotate(OpenApi.Description, "The people of a workspace.") {}
