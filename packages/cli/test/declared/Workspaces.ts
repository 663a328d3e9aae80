/** Random workspaces as Posthorn shows them, each the same as the file that is written of it. */
import { WebhookEndpointDetail } from "@posthorn/api-contract/EndpointShapes"
import { Arbitrary, FastCheck, Schema } from "effect"
import { expect } from "vitest"
import { stringify } from "yaml"
import { fileOf, type Members, readDeclared } from "../../src/declared/DeclaredFile.ts"
import { planOf } from "../../src/declared/Plan.ts"

const { filter: _, ...fields } = WebhookEndpointDetail.fields
const Detail = Schema.Struct(fields)

const CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"

/** What Posthorn shows, with what its own rules make of members that the shapes of answers leave open. */
const asShown = (one: typeof Detail.Type, filter: unknown, index: number): Members => {
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
    id: `whe_${index}`,
    url: `https://example.com/${index}`,
    eventTypes: ["invoice.*"],
    description: index % 2 === 0 ? null : "yes: 1\n- #no",
    externalId: `e.${index}:x`,
    metadata: { toString: "1.0", null: "~" }
  }
}

const workspace = FastCheck.array(FastCheck.tuple(Arbitrary.make(Detail), FastCheck.jsonValue()), {
  maxLength: 4
}).map((endpoints) => ({
  endpoints: endpoints.map(([one, filter], index) => asShown(one, filter, index)),
  settings: { policy: null },
  eventTypes: []
}))

/** Whatever the file says, nothing differs, and nothing is pruned; in an empty workspace all of it is made. */
export const checkWorkspaces = (numRuns: number) =>
  FastCheck.assert(
    FastCheck.property(workspace, (present) => {
      const read = readDeclared(stringify(fileOf(present), { lineWidth: 0 }))
      // The shapes of answers leave rules open, such as names of headers that are there twice.
      FastCheck.pre(read._tag === "Right")
      const file = read._tag === "Right" ? read.right : {}
      const options = { prune: true, secrets: false }
      expect(planOf(file, present, options)).toEqual([])
      expect(planOf(file, { ...present, endpoints: [] }, options)).toHaveLength(present.endpoints.length)
    }),
    { numRuns }
  )
