/** Random workspaces as Posthorn shows them, each the same as the file that is written of it. */
import { entries } from "@posthorn/api-contract/Contract"
import { WebhookEndpointDetail } from "@posthorn/api-contract/EndpointShapes"
import { EventType } from "@posthorn/api-contract/EventTypes"
import { WorkspaceSettings } from "@posthorn/api-contract/WorkspaceSettings"
import { Arbitrary, FastCheck, Option, Schema } from "effect"
import { expect } from "vitest"
import { stringify } from "yaml"
import { fileOf, type Members, readDeclared, withoutSecrets } from "../../src/declared/DeclaredFile.ts"
import { planOf } from "../../src/declared/Plan.ts"

const { filter: _, ...fields } = WebhookEndpointDetail.fields
const Detail = Schema.Struct(fields)

const CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"

/** What Posthorn shows, with what its own rules make of members that the shapes of answers leave open. */
const asShown = (one: typeof Detail.Type, filter: unknown): Members => {
  const { request, ...rest } = Schema.encodeSync(Detail)(one)
  const authentication = request?.authentication
  return {
    ...rest,
    request:
      authentication?.kind === "mtls"
        ? { ...request, authentication: { ...authentication, certificate: CERTIFICATE } }
        : request,
    filter: { and: filter },
    enabled: rest.disabledReason === null,
    eventTypes: ["invoice.*"],
    metadata: { toString: "1.0", null: "~" }
  }
}

/** The shapes of answers leave rules of requests open, such as names of headers that are there twice. */
const isTaken = (operation: string) => {
  const { bodySchema } = entries.find(({ name }) => name === operation)!
  const is = Schema.decodeUnknownEither(Option.getOrThrow(bodySchema) as Schema.Schema<unknown>)
  return (value: unknown) => is(value)._tag === "Right"
}
const taken = {
  endpoint: isTaken("updateWebhookEndpoint"),
  eventType: isTaken("putEventType"),
  settings: isTaken("updateWorkspaceSettings")
}

/** Files refuse longer integers. */
const isExact = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).every(isExact)
    : !Number.isInteger(value) || Number.isSafeInteger(value)

const json = FastCheck.jsonValue().filter(isExact)

const endpoint = FastCheck.tuple(Arbitrary.make(Detail), json)
  .map(([one, filter]) => asShown(one, filter))
  .filter(({ policy, request }) => taken.endpoint({ policy, request: withoutSecrets(request) }))

const eventType = FastCheck.tuple(Arbitrary.make(EventType), json, FastCheck.array(json, { maxLength: 3 }))
  .map(([one, schema, examples]) => ({
    ...Schema.encodeSync(EventType)(one),
    schema,
    examples,
    replacedBy: one.replacedBy === null ? null : "e.0"
  }))
  .filter(({ description, group }) => taken.eventType({ description, group }))

const workspace = FastCheck.record({
  endpoints: FastCheck.array(endpoint, { maxLength: 4 }),
  settings: Arbitrary.make(WorkspaceSettings)
    .map((one): Members => Schema.encodeSync(WorkspaceSettings)(one))
    .filter(taken.settings),
  eventTypes: FastCheck.array(eventType, { maxLength: 3 })
}).map(({ endpoints, eventTypes, settings }) => ({
  endpoints: endpoints.map((one, index) => ({
    ...one,
    id: `whe_${index}`,
    url: `https://example.com/${index}`,
    description: index % 2 === 0 ? null : "yes: 1\n- #no",
    externalId: `e.${index}:x`
  })),
  settings,
  eventTypes: eventTypes.map((one, index) => ({ ...one, eventType: `e.${index}` }))
}))

/** Whatever the file says, nothing differs, and nothing is pruned; in an empty workspace all of it is made. */
export const checkWorkspaces = (numRuns: number) =>
  FastCheck.assert(
    FastCheck.property(workspace, (present) => {
      const read = readDeclared(stringify(fileOf(present), { lineWidth: 0 }))
      if (read._tag === "Left") throw new Error(read.left.join("\n"))
      const options = { prune: true, secrets: false }
      expect(planOf(read.right, present, options)).toEqual([])
      const empty = { ...present, endpoints: [], eventTypes: [] }
      expect(planOf(read.right, empty, options)).toHaveLength(
        present.endpoints.length + present.eventTypes.length
      )
    }),
    { numRuns }
  )
