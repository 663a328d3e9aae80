/**
 * What members mean whose name says nearly all: ids, times, the members of every problem. A member that needs more has
 * its description in the contract, which goes before these. A test fails for a member that has none.
 */
import type { Json } from "./Schemas.ts"

/** Of members with this name, wherever they are. */
const byName: Readonly<Record<string, string>> = {
  id: "Its id; newer ones are greater.",
  items: "The page's items.",
  name: "For people.",
  url: "Where deliveries are posted.",
  email: "Compared without regard to upper and lower case.",
  slug: "Part of every path of the workspace.",
  scopes: "Permissions, and bundles of them.",
  description: "For people.",
  eventType: "Dotted words such as `invoice.paid`.",
  eventTypes: "Exact event types, `prefix.*`, or `*`.",
  enabled: "Whether it is sent anything.",
  disabledReason: "Whether somebody disabled it, or its failures did; null while it is enabled.",
  endpointId: "Id of the webhook endpoint.",
  deliveryId: "Id of the delivery.",
  auditEventId: "Id of the audit event.",
  traceId: "What carries it belongs to the same publish, replay, test send or call.",
  expiresAt: "When it ends; null when it does not.",
  revokedAt: "When it was revoked; null when it was not.",
  nextAttemptAt: "When it is tried next, at the earliest; null when it is not.",
  lastAttemptAt: "When the last attempt began; null before the first.",
  lastHttpStatus: "What the receiver answered last; null when no usable answer came.",
  lastFailureReason: "Why the last attempt failed; null when it did not.",
  lastDurationMs: "Milliseconds the last attempt took; null before the first.",
  httpStatus: "The receiver's HTTP status; null when no usable answer came.",
  failureReason: "Why it failed; null when it did not.",
  status: "What came of it.",
  waitSeconds: "Answer when the first attempt is recorded, or after so many seconds.",
  expiresInSeconds: "How many seconds it can be used.",
  _tag: "The kind of problem: switch on it.",
  title: "The same for every problem of this kind.",
  issues: "Each thing that is wrong.",
  path: "JSON pointer to what is wrong; empty for the whole.",
  message: "For people.",
  permission: "The permission that is missing.",
  bucket: "The rate limit that is used up.",
  reason: "The rule that it breaks.",
  deliveryStatus: "Why it cannot be replayed: its status.",
  p50Ms: "Half of the last attempts took at most so many milliseconds; null when there were none.",
  p95Ms: "95 of 100 last attempts took at most so many milliseconds; null when there were none.",
  examined: "What the findings are based on.",
  code: "What was found: one of a fixed list, see docs/mcp.md.",
  changedBefore: "What was changed shortly before it began; null when nothing was.",
  because: "The facts behind it.",
  why: "What it is good for.",
  action: "What was done.",
  actor: "Who did it, and through which door.",
  target: "What it was done to.",
  changes: "Which members changed, and facts about it; never a secret.",
  fields: "The members that changed.",
  via: "The door it came through.",
  type: "Its kind.",
  workspace: "The workspace.",
  endpoints: "Webhook endpoints.",
  queue: "What waits to be sent.",
  createdBy: "Who made it; null when that is not known."
}

/** Where a name means something else. */
const byComponent: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  InvalidWebhookUrl: { reason: "The rule that the URL breaks." }
}

const isProblem = (schema: Json) => "_tag" in ((schema.properties ?? {}) as Json)

/** A union's own text may stand in its first member. */
const within = (member: Json): unknown =>
  ((member.anyOf ?? []) as ReadonlyArray<Json>).find(({ description }) => description !== undefined)
    ?.description

const describeMember = (component: string, problem: boolean, name: string, member: Json): Json => {
  if (member.description !== undefined || "$ref" in member) return member
  const status = problem && name === "status" ? "The HTTP status." : undefined
  const description = byComponent[component]?.[name] ?? status ?? within(member) ?? byName[name]
  return description === undefined ? member : { description, ...member }
}

/** The component with a description for each member, those of its inner objects too. */
export const described = (component: string, node: unknown, problem = isProblem(node as Json)): unknown => {
  if (Array.isArray(node)) return node.map((each) => described(component, each, problem))
  if (typeof node !== "object" || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === "properties"
        ? Object.fromEntries(
            Object.entries(value as Json).map(([name, member]) => [
              name,
              described(component, describeMember(component, problem, name, member as Json), problem)
            ])
          )
        : key === "examples" || key === "enum"
          ? value
          : described(component, value, problem)
    ])
  )
}
