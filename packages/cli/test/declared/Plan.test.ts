import { readFileSync } from "node:fs"
import { expect, it } from "@effect/vitest"
import { parse, stringify } from "yaml"
import { fileOf, readDeclared, unsetIn, withSecrets } from "../../src/declared/DeclaredFile.ts"
import { planOf, told } from "../../src/declared/Plan.ts"
import { checkWorkspaces } from "./Workspaces.ts"

const declared = (text: string) => {
  const read = readDeclared(text)
  if (read._tag === "Left") throw new Error(read.left.join("\n"))
  return read.right
}

const faults = (value: unknown) => {
  const read = readDeclared(typeof value === "string" ? value : stringify(value))
  return read._tag === "Left" ? read.left : []
}

it("§13 a workspace is as the file that was written of it says", () => checkWorkspaces(100))

const variable = (name: string) => `\${${name}}`

const ORDERS = {
  id: "whe_1",
  externalId: "orders",
  url: "https://example.com/orders",
  eventTypes: ["order.*"],
  description: null,
  metadata: { team: "a" },
  policy: null,
  filter: { total: { $gt: 1 }, paid: true },
  request: {
    headers: [{ name: "x-key", secret: true, fingerprint: "0123456789abcdef" }],
    authentication: { kind: "bearer", secret: true, fingerprint: "fedcba9876543210" }
  },
  enabled: true,
  disabledReason: null
}
const PRESENT = { endpoints: [ORDERS], settings: { policy: null }, eventTypes: [] }

it("only what is declared and differs is changed; what is not named stays, unless it is pruned", () => {
  const file = declared(
    stringify({
      endpoints: [
        {
          externalId: "orders",
          url: "https://EXAMPLE.com/orders",
          eventTypes: ["order.*"],
          metadata: { team: "b" }
        },
        {
          externalId: "new",
          url: "https://example.com/new",
          eventTypes: ["*"],
          signingSecret: variable("NEW_SECRET")
        }
      ]
    })
  )
  const other = { ...ORDERS, id: "whe_2", externalId: "old" }
  const present = { ...PRESENT, endpoints: [ORDERS, other, { ...ORDERS, id: "whe_3", externalId: null }] }

  const changes = planOf(file, present, { prune: true, secrets: false })

  expect(told(changes)).toBe(`~ endpoint orders
    metadata: {"team":"a"} → {"team":"b"}
+ endpoint new
    externalId: "new"
    url: "https://example.com/new"
    eventTypes: ["*"]
- endpoint old`)
  expect(changes[0]!.members).toEqual({ metadata: { team: "b" } })
  expect(planOf(file, present, { prune: false, secrets: false })).toHaveLength(2)
  expect(unsetIn(changes[1]!.members, {})).toEqual(["NEW_SECRET"])
  expect(withSecrets(changes[1]!.members, { NEW_SECRET: "whsec_x" }).signingSecret).toBe("whsec_x")
})

it("secrets are sent where an endpoint is made, and again only when asked", () => {
  const written = parse(stringify(fileOf(PRESENT)))
  const file = declared(stringify(written))
  const { authentication, headers } = written.endpoints[0].request

  const [again] = planOf(file, PRESENT, { prune: false, secrets: true })
  const environment = { ORDERS_X_KEY: "k", ORDERS_AUTHENTICATION: "t" }

  expect([headers[0].value, authentication.token]).toEqual(Object.keys(environment).map(variable))
  expect(planOf(file, PRESENT, { prune: false, secrets: false })).toEqual([])
  expect(unsetIn(again!.members, {})).toEqual(Object.keys(environment))
  expect(withSecrets(again!.members, environment).request).toEqual({
    headers: [{ name: "x-key", secret: true, value: "k" }],
    authentication: { kind: "bearer", token: "t" }
  })
})

it("a file with anything that Posthorn does not know is refused, by place and without a secret", () => {
  const one = { externalId: "a", url: "https://example.com/a", eventTypes: ["*"] }
  const secret = { authentication: { kind: "bearer", token: "hunter2" }, bodi: "payload" }

  expect(faults("a: [")).toEqual(["It is neither JSON nor YAML"])
  expect(faults({ endpoint: [] })).toEqual(["/endpoint: is not endpoints, settings or eventTypes"])
  expect(faults({ endpoints: [one, one] })).toEqual(["/endpoints/1/externalId: a is declared twice"])
  expect(faults({ endpoints: [{ url: "https://example.com" }] })).toEqual([
    "/endpoints/0/externalId: is missing"
  ])
  expect(faults({ endpoints: [{ ...one, revealSecret: true }] })[0]).toMatch(
    /^\/endpoints\/0\/revealSecret: /
  )
  expect(faults({ settings: { polisy: null } })[0]).toMatch(/^\/settings\/polisy: /)
  expect(faults({ eventTypes: [{ eventType: "a.b", validation: "of" }] })[0]).toMatch(
    /^\/eventTypes\/0\/validation/
  )
  const said = faults({ endpoints: [{ ...one, request: secret }] }).join("\n")
  expect(said).toMatch(/\/endpoints\/0\/request.*bodi/)
  expect(said).not.toContain("hunter2")
})

it("a secret that stands in the file, and a misspelt member with one, are refused by place and not repeated", () => {
  const one = { externalId: "a", url: "https://example.com/a", eventTypes: ["*"] }
  const refused = (more: object) => faults({ endpoints: [{ ...one, ...more }] })
  const expected = `expected ${variable("NAME")}, the secret's variable in the environment`

  expect(refused({ signingSecret: "hunter2" })).toEqual([`/endpoints/0/signingSecret: ${expected}`])
  expect(refused({ request: { headers: [{ name: "x-key", value: "hunter2", secret: true }] } })).toEqual([
    `/endpoints/0/request/headers/0/value: ${expected}`
  ])
  expect(refused({ request: { authentication: { kind: "bearer", token: "hunter2" } } })).toEqual([
    `/endpoints/0/request/authentication/token: ${expected}`
  ])
  for (const request of [
    { authentication: { kind: "bearer", tokn: "hunter2" } },
    { authentication: { kind: "barer", secret: "hunter2" } },
    { authentication: "hunter2" },
    { headers: [{ name: "x-key", valu: "hunter2", secret: true }] },
    { headers: [{ name: "x-key", value: "hunter2", secret: "yes" }] },
    "hunter2"
  ]) {
    const said = refused({ request }).join("\n")
    expect(said).toMatch(/^\/endpoints\/0\/request/)
    expect(said).not.toContain("hunter2")
  }
})

it("each secret has a variable of its own; what is no secret is as it is written, and no number loses digits", () => {
  const twins = ["a.b", "a-b"].map((externalId) => ({ ...ORDERS, externalId }))
  const written = parse(stringify(fileOf({ ...PRESENT, endpoints: twins }))).endpoints
  const one = { externalId: "a", url: "https://example.com/a", eventTypes: ["*"] }
  const [made] = declared(stringify({ endpoints: [{ ...one, metadata: { cost: variable("X") } }] }))
    .endpoints!

  expect(
    written.map(
      (one: typeof ORDERS & { request: { authentication: { token: string } } }) =>
        one.request.authentication.token
    )
  ).toEqual(["A_B_AUTHENTICATION", "A_B_AUTHENTICATION_2"].map(variable))
  expect(unsetIn(made!, {})).toEqual([])
  expect(withSecrets(made!, { X: "1" })).toEqual(made)
  const long = `{ "endpoints": [{ "externalId": "a", "url": "https://example.com/a", "eventTypes": ["*"], "filter": { "id": 9007199254740993 } }] }`
  expect(faults(long)).toEqual([
    "/endpoints/0/filter/id: has more digits than this command keeps: put it over REST"
  ])
  expect(declared(long.replace("740993", "740991")).endpoints![0]!.filter).toEqual({ id: 9007199254740991 })
})

it("§13 the file in docs/cli.md is one", () => {
  const guide = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8")
  const [, example] = /^```yaml\n([\s\S]*?)^```/m.exec(guide)!

  expect(
    planOf(declared(example!), { ...PRESENT, endpoints: [] }, { prune: false, secrets: false })
  ).toHaveLength(3)
})

it("§13 a Slack URL is read from the environment, sent when its alert changes, and never compared", () => {
  const EMAIL = { kind: "email", to: "oncall@example.com", on: ["endpoint.failing"] }
  const SLACK = { kind: "slack", on: ["endpoint.disabled"] }
  const alerts = [EMAIL, { ...SLACK, fingerprint: "0123456789abcdef" }]
  const present = { ...PRESENT, settings: { policy: null, alerts } }
  const written = fileOf({ endpoints: [], settings: present.settings })
  const plan = (value: unknown, secrets = false) =>
    planOf(declared(stringify(value)), present, { prune: false, secrets })
  expect(plan(written)).toEqual([])

  const file = { settings: { alerts: [EMAIL, { ...SLACK, url: variable("SLACK_URL") }] } }
  expect(plan(file)).toEqual([])
  const [again] = plan(file, true)
  const [changed] = plan({ settings: { alerts: [file.settings.alerts[1]] } })
  for (const change of [again!, changed!]) {
    expect(change.sendsSecrets).toBe(true)
    expect(unsetIn(change.members, {})).toEqual(["SLACK_URL"])
    expect(JSON.stringify(withSecrets(change.members, { SLACK_URL: "https://hooks.slack.com/x" }))).toContain(
      '"url":"https://hooks.slack.com/x"'
    )
  }
  expect(told([changed!])).not.toContain("SLACK_URL")
  expect(faults({ settings: { alerts: [{ ...SLACK, url: "https://hooks.slack.com/geheim" }] } })).toEqual([
    expect.stringMatching(/^\/settings\/alerts\/0\/url: expected \$\{NAME\}/)
  ])
})
