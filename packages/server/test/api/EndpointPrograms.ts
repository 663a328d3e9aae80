/**
 * A model of a workspace's endpoints (a list), and random programs that call both the server and the model. After each call
 * the server's answer equals the model's in every member except times.
 */
import { expect } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { unknown } from "../Fixtures.ts"
import type { Answer, Loose } from "../TestServer.ts"

export const MOST_CALLS = 16

interface Settings {
  readonly url: string
  readonly description: string | null
  readonly eventTypes: ReadonlyArray<string>
  readonly filter: object | null
  readonly enabled: boolean
}

interface Modelled extends Settings {
  readonly id: string
  readonly rotated: boolean
  /** Events missed in the current or latest disabled period; null when it was never disabled. */
  readonly missed: number | null
  readonly tag: string | null
}

/** In the order of creation, which is that of the ids. */
export type Model = { endpoints: ReadonlyArray<Modelled> }

export interface Real {
  readonly call: (
    method: string,
    path: string,
    options?: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  ) => Promise<Answer<Loose>>
  /** Every endpoint, read in pages of this size. */
  readonly list: (limit: number) => Promise<ReadonlyArray<Loose>>
}

type Step = fc.AsyncCommand<Model, Real>

const step = (name: string, run: Step["run"]): Step => ({ check: () => true, run, toString: () => name })

const shown = ({ description, enabled, eventTypes, filter, id, url }: Modelled) => ({
  id,
  url,
  description,
  eventTypes,
  externalId: null,
  metadata: {},
  policy: null,
  request: null,
  filter,
  enabled,
  disabledReason: enabled ? null : "manual",
  consecutiveFailures: 0
})

const detail = (modelled: Modelled) => ({
  ...shown(modelled),
  effectivePolicy: expect.any(Object),
  createdAt: expect.any(String),
  updatedAt: expect.any(String),
  publicKey: null,
  previousSecretExpiresAt: modelled.rotated ? expect.any(String) : null,
  expiredDeliveries: 0,
  missedEvents: {
    count: modelled.missed ?? 0,
    since: modelled.missed === null ? null : expect.any(String)
  }
})

const fits = (pattern: string, type: string) =>
  pattern === "*" || pattern === type || (pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1)))

const wants =
  (type: string) =>
  ({ eventTypes }: Modelled) =>
    eventTypes.some((pattern) => fits(pattern, type))

/** Applies an event to the model; the endpoint that it is about does not receive it. */
const happens = (model: Model, type: string, about?: string) => {
  const misses = (each: Modelled) => !each.enabled && each.id !== about && wants(type)(each)
  model.endpoints = model.endpoints.map((each) =>
    misses(each) ? { ...each, missed: (each.missed ?? 0) + 1 } : each
  )
}

/** An endpoint of the model; undefined means: use an id that does not exist. */
const found = ({ endpoints }: Model, at: number): Modelled | undefined =>
  endpoints[at % (endpoints.length + 1)]

const pathOf = (endpoint: Modelled | undefined, more = "") =>
  `/webhooks/${endpoint?.id ?? unknown("whe_")}${more}`

const replace = (model: Model, old: Modelled, by: ReadonlyArray<Modelled>) => {
  model.endpoints = model.endpoints.flatMap((each) => (each === old ? by : [each]))
}

const expectNobody = ({ body }: Answer<Loose>) =>
  expect(body).toMatchObject({ _tag: "WebhookEndpointNotFound", status: 404 })

const create = (settings: Settings) =>
  step(`create ${JSON.stringify(settings)}`, async (model, { call }) => {
    const { body, headers, status } = await call("POST", "/webhooks", { body: settings })
    const missed = settings.enabled ? null : 0
    const made = { ...settings, id: body.id, rotated: false, missed, tag: headers.get("etag") }
    expect(status).toBe(201)
    expect(body).toEqual(shown(made))
    for (const { id } of model.endpoints) expect(id < made.id).toBe(true)
    model.endpoints = [...model.endpoints, made]
  })

type OnlyIf = "any" | "current" | "stale"

const update = (at: number, changes: Partial<Settings>, onlyIf: OnlyIf = "any") =>
  step(`update ${at} ${JSON.stringify(changes)} ${onlyIf}`, async (model, { call }) => {
    const old = found(model, at)
    const tag = onlyIf === "stale" ? '"stale"' : (old?.tag ?? "*")
    const headers: Record<string, string> = onlyIf === "any" ? {} : { "if-match": tag }
    const answer = await call("PATCH", pathOf(old), { body: changes, headers })
    if (old === undefined) return void expectNobody(answer)
    if (onlyIf === "stale") return void expect(answer.body).toMatchObject({ _tag: "PreconditionFailed" })
    const disabledNow = old.enabled && changes.enabled === false
    const missed = disabledNow ? 0 : old.missed
    const changed = { ...old, ...changes, missed, tag: answer.headers.get("etag") }
    replace(model, old, [changed])
    if (disabledNow) happens(model, "webhook.endpoint_disabled", old.id)
    expect(answer.body).toEqual(detail(changed))
    expect(changed.tag === old.tag).toBe(JSON.stringify(shown(old)) === JSON.stringify(shown(changed)))
  })

const get = (at: number) =>
  step(`get ${at}`, async (model, { call }) => {
    const endpoint = found(model, at)
    const answer = await call("GET", pathOf(endpoint))
    if (endpoint === undefined) return void expectNobody(answer)
    expect(answer.body).toEqual(detail(endpoint))
    expect(answer.headers.get("etag")).toBe(endpoint.tag)
  })

const remove = (at: number) =>
  step(`delete ${at}`, async (model, { call }) => {
    const endpoint = found(model, at)
    const answer = await call("DELETE", pathOf(endpoint))
    if (endpoint === undefined) return void expectNobody(answer)
    expect(answer.status).toBe(204)
    replace(model, endpoint, [])
  })

const rotate = (at: number) =>
  step(`rotate ${at}`, async (model, { call }) => {
    const endpoint = found(model, at)
    const answer = await call("POST", pathOf(endpoint, "/rotate-secret"))
    if (endpoint === undefined) return void expectNobody(answer)
    expect(answer.body).toEqual({
      endpointId: endpoint.id,
      signingSecret: expect.stringMatching(/^whsec_/),
      previousSecretExpiresAt: expect.any(String)
    })
    replace(model, endpoint, [{ ...endpoint, rotated: true }])
  })

const testSend = (at: number) =>
  step(`test-send ${at}`, async (model, { call }) => {
    const endpoint = found(model, at)
    const answer = await call("POST", pathOf(endpoint, "/test-event"))
    if (endpoint === undefined) return void expectNobody(answer)
    expect(answer.body).toMatchObject(
      endpoint.enabled
        ? { endpointId: endpoint.id, status: "pending", eventId: null, attempts: 0 }
        : { _tag: "WebhookEndpointDisabled", status: 409 }
    )
  })

const publish = (eventType: string) =>
  step(`publish ${eventType}`, async (model, { call }) => {
    const { body, status } = await call("POST", "/events", { body: { eventType, payload: 1 } })
    expect(status).toBe(202)
    expect(body.deliveryIds).toHaveLength(
      model.endpoints.filter((each) => each.enabled && wants(eventType)(each)).length
    )
    happens(model, eventType)
  })

export const list = (limit: number) =>
  step(`list ${limit}`, async ({ endpoints }, { list }) => {
    expect(await list(limit)).toEqual(endpoints.map(shown))
  })

const settings = {
  url: fc.constantFrom(
    "https://example.com/a",
    "https://example.com/b?c=d",
    "https://hooks.example.org:8443/"
  ),
  description: fc.constantFrom(null, "", "For billing", "für \u{1f3ba}"),
  eventTypes: fc.constantFrom(["*"], ["invoice.*"], ["invoice.paid"], ["invoice.paid", "order.*"], ["a.b"]),
  filter: fc.constantFrom(null, {}),
  enabled: fc.boolean()
}

const at = fc.nat(7)

const published = fc.constantFrom("invoice.paid", "order.made.late", "a.b", "invoice")

export const programs = fc.commands(
  [
    fc.record(settings).map(create),
    fc
      .tuple(
        at,
        fc.record(settings, { requiredKeys: [] }),
        fc.constantFrom<OnlyIf[]>("any", "current", "stale")
      )
      .map(([at, changes, onlyIf]) => update(at, changes, onlyIf)),
    at.map((at) => update(at, { enabled: false })),
    at.map((at) => update(at, { enabled: true })),
    at.map(get),
    at.map(remove),
    at.map(rotate),
    at.map(testSend),
    published.map(publish),
    fc.integer({ min: 1, max: 3 }).map(list)
  ],
  { maxCommands: MOST_CALLS, size: "max" }
)
