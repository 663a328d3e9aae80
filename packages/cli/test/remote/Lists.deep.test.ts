/** Commands that list, find, change and verify, as real processes with a real Posthorn. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { generateSecret, sign } from "@posthorn/signature"
import { runCommand } from "@posthorn/testkit/Command"
import { untilAsked } from "@posthorn/testkit/Until"
import { describe, expect, it } from "vitest"
import { holdsScalar } from "../../src/remote/FindCommand.ts"
import { asked, asOperator, call, json, makeEndpoint, posthorn, receiver, runDev } from "./Remote.ts"

runDev()

const ids = (document: { items: ReadonlyArray<{ id: string }> }) => document.items.map(({ id }) => id)

describe("lists", () => {
  it("§10 of events: filtered, page by page, and all in one document, to the letter", async () => {
    const sent: Array<string> = []
    for (let n = 0; n < 5; n++)
      sent.unshift((await json("send", "cli.listed", `{"order":{"id":${n}.50}}`)).id)
    const first = await posthorn("events", "--event-type", "cli.listed", "--limit", "2", "--json")
    const { nextCursor } = JSON.parse(first.out)
    const rest = await json("events", "--event-type", "cli.listed", "--limit", "3", "--cursor", nextCursor)
    const all = await posthorn("events", "--event-type", "cli.listed", "--all", "--json")
    const shown = await posthorn("events", "--event-type", "cli.listed", "--limit", "2")
    const by = ["--payload-path", "/order/id", "--payload-value", "3.5"]

    expect([...ids(JSON.parse(first.out)), ...ids(rest)]).toEqual(sent)
    expect(first.err).toBe(`There is more: --cursor ${nextCursor}\n`)
    expect(JSON.parse(all.out)).toMatchObject({ nextCursor: null })
    expect(ids(JSON.parse(all.out))).toEqual(sent)
    expect(all.out).toContain('{"order":{"id":4.50}}')
    expect(all.err).toBe("")
    expect(shown.out).toMatch(/^ID +EVENT TYPE +DELIVERIES +MISSED +BY +CREATED\nevt_\w+ +cli\.listed/)
    expect(shown.err).toContain("--cursor")
    expect(ids(await json("events", ...by))).toEqual([sent[1]])
    expect(ids(await json("events", "--event-type", "cli.listed", "--until", "1h"))).toEqual([])
    for (const [flag, count] of [
      ["--since", 5],
      ["--until", 0]
    ] as const)
      expect(ids(await json("deliveries", "--event-type", "cli.listed", flag, "1h"))).toHaveLength(count)
  })

  it("§10 of changes, tokens, members and notifications, and of workspaces for the operator", async () => {
    const { body: token } = await call("POST", "/api-tokens", { name: "cli-lists", scopes: ["read"] })
    const { body: member } = await call("POST", "/members", {
      email: "cli@example.com",
      name: "Cli",
      role: "viewer"
    })
    const audit = await json("audit", "--action", "api_token.created", "--target", token.id)
    const workspaces = await runCommand(["workspaces", "--json"], asOperator())

    expect(audit.items).toMatchObject([{ target: { id: token.id } }])
    expect((await posthorn("audit", "--target", token.id)).out).toMatch(
      /^AT +ACTION +BY[\s\S]*api_token\.created/
    )
    expect(ids(await json("tokens"))).toContain(token.id)
    expect(ids(await json("members", "--all"))).toContain(member.id)
    expect((await posthorn("notifications")).code).toBe(0)
    expect(JSON.parse(workspaces.out).items).toMatchObject([{ slug: "acme" }])
    const wrong = await posthorn("audit", "--action", "nothing.done")
    expect([wrong.code, wrong.out]).toEqual([2, ""])
    expect((await posthorn("events", "--since", "soon")).code).toBe(2)
  })
})

describe("posthorn endpoints", () => {
  it("§10 changes, tests and deletes an endpoint", async () => {
    const target = await receiver(500)
    const endpointId = await makeEndpoint(`${target.url}x`, "cli.changed")
    const updated = await json(
      "endpoints",
      "update",
      endpointId,
      "--url",
      target.url,
      "--event-types",
      "a.b, c"
    )
    const failed = await posthorn("endpoints", "test", endpointId)
    target.state.status = 200
    const tested = await posthorn("endpoints", "test", endpointId)
    const nothing = await posthorn("endpoints", "update", endpointId)
    const unasked = await posthorn("endpoints", "delete", endpointId)
    const deleted = await posthorn("endpoints", "delete", endpointId, "--yes")
    const gone = await posthorn("endpoints", "delete", endpointId, "--yes")
    target.close()

    expect(updated).toMatchObject({ id: endpointId, url: target.url, eventTypes: ["a.b", "c"] })
    expect([failed.code, failed.out]).toEqual([1, expect.stringMatching(/^whd_\w+ {2}failed\n$/)])
    expect([tested.code, tested.out]).toEqual([0, expect.stringMatching(/^whd_\w+ {2}delivered\n$/)])
    expect(nothing.code).toBe(2)
    expect([unasked.code, unasked.err]).toEqual([1, expect.stringContaining("--yes")])
    expect([deleted.code, gone.code]).toEqual([0, 1])
  })

  it("§3.5 sets and shows a policy, an external id and metadata, and the workspace's policy", async () => {
    const made = await json(
      ...["endpoints", "create", "https://example.com/hooks", "--event-types", "cli.policy"],
      ...["--external-id", "shop-9", "--metadata", '{"region":"eu"}'],
      ...["--policy", '{"retries":{"kind":"patient"}}']
    )
    await posthorn("settings", "--policy", '{"jitter":0.25}')
    const settings = await json("settings")
    const shown = await posthorn("endpoints", "show", made.id)
    const detail = await json("endpoints", "show", made.id)
    const update = (...words: ReadonlyArray<string>) => posthorn("endpoints", "update", made.id, ...words)
    const refused = [
      await update("--policy", "patient"),
      await update("--policy", '{"jitter":2}'),
      await update("--metadata", "[]")
    ]
    await update("--policy", "null", "--external-id", "", "--metadata", "{}")
    const plain = await json("endpoints", "show", made.id)
    await posthorn("settings", "--policy", "null")

    expect(made).toMatchObject({ externalId: "shop-9", metadata: { region: "eu" } })
    expect(settings).toMatchObject({ policy: { jitter: 0.25 } })
    expect(detail.effectivePolicy).toMatchObject({ retries: { kind: "patient" }, jitter: 0.25 })
    expect(shown.out).toMatch(/^effectivePolicy\n {2}retries +\{"kind":"patient"\}\n {2}jitter +0.25$/m)
    expect(refused.map(({ code }) => code)).toEqual([2, 2, 2])
    expect(plain).toMatchObject({ externalId: null, metadata: {}, policy: null })
    expect(await json("settings")).toMatchObject({ policy: null })
  })

  it("§2.9 reads a request and a signing secret from files, and repeats no secret", async () => {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-request-"))
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const token = { authentication: { kind: "bearer", token: "geheim-token" } }
    const made = await json(
      ...["endpoints", "create", "https://example.com/hooks", "--event-types", "cli.request"],
      ...["--request", file("request.json", JSON.stringify(token))],
      ...[
        "--signing-secret-file",
        file("secret", "whsec_geheim-secret\n"),
        "--signing-secret-encoding",
        "text"
      ]
    )
    const update = (path: string) => posthorn("endpoints", "update", made.id, "--request", path)
    const wrong = { headers: [{ name: "host", value: "geheim-wert", secret: true }] }
    const refused = [
      await update(file("wrong.json", JSON.stringify(wrong))),
      await update(file("no.json", "geheim-text")),
      await update(join(folder, "missing.json"))
    ]
    const removed = await update(file("null.json", "null"))
    rmSync(folder, { recursive: true })

    expect(made.request).toMatchObject({ authentication: { kind: "bearer", secret: true } })
    expect(refused.map(({ code }) => code)).toEqual([2, 2, 2])
    expect(refused[0]!.err).toContain("/headers/0/name")
    expect(refused.map(({ err, out }) => err + out).join("")).not.toContain("geheim")
    expect(removed.code).toBe(0)
    expect(await json("endpoints", "show", made.id)).toMatchObject({ request: null })
  })
})

describe("posthorn why", () => {
  it("§10 says who got an event and why not, counts first, and what to do", async () => {
    const endpointId = await makeEndpoint("https://example.com/why", "cli.why")
    const other = await makeEndpoint("https://example.com/why", "cli.other")
    await posthorn("endpoints", "disable", endpointId)
    const { id } = await json("send", "cli.why", "{}")
    const all = await posthorn("why", id, "--all")
    const one = await posthorn("why", id, endpointId)
    const page = await posthorn("why", id, "--limit", "1")

    expect(all.out).toMatch(/^cli\.why of \S+, \d+ endpoints?: .*1 missed it/)
    expect(page.out).toMatch(/^cli\.why of \S+, this 1 endpoint: /)
    expect(all.out).toMatch(new RegExp(`^${other} +- +It does not subscribe to this type\\.$`, "m"))
    expect(one.out).toMatch(
      new RegExp(
        `^→ posthorn recover ${endpointId} --since \\S+Z --include-missed sends what it missed\\.$`,
        "m"
      )
    )
    expect(await json("why", id, endpointId)).toMatchObject({ items: [{ endpointId, reason: "missed" }] })
    expect((await posthorn("why", "evt_0")).code).toBe(1)
  })
})

describe("posthorn find", () => {
  it("§10 finds a word as an id, a key, an external id or a value, and says when there is none", async () => {
    const target = await receiver()
    const endpointId = await makeEndpoint(target.url, "cli.found")
    await call("PATCH", `/webhooks/${endpointId}`, { externalId: "shop-4711" })
    const { deliveryIds, id } = await json(
      "send",
      "cli.found",
      '{"order":{"id":"ord-4711"}}',
      "--idempotency-key",
      "k/4711"
    )
    for (const word of ["ord-4711", "k/4711", id]) {
      const found = await json("find", word)
      expect(
        found.events.map((one: { id: string }) => one.id),
        word
      ).toEqual([id])
      expect(found.deliveries.map((one: { id: string }) => one.id).toSorted()).toEqual(deliveryIds.toSorted())
      expect(found).toMatchObject({ endpoints: [], truncated: false, examined: expect.any(Number) })
    }
    for (const word of ["shop-4711", endpointId])
      expect((await json("find", word)).endpoints).toMatchObject([{ id: endpointId }])
    expect((await json("find", deliveryIds[0])).deliveries).toMatchObject([{ id: deliveryIds[0] }])
    const shown = await posthorn("find", "ord-4711")
    const none = await posthorn("find", "ord-471", "--json")
    target.close()

    expect(shown.out).toMatch(/^WHAT +ID[\s\S]*event +evt_\w+ +cli\.found[\s\S]*delivery +whd_/)
    expect(shown.err).toMatch(/^Looked in ids, keys, and \d+ payloads since 1d\.\n$/)
    expect(none.code).toBe(1)
    expect(none.err).toMatch(/^Nothing is "ord-471" in ids, keys, and \d+ payloads since 1d\.\n$/)
    expect(JSON.parse(none.out)).toMatchObject({ events: [], deliveries: [], endpoints: [] })
  })

  it.each([
    ['{"a":4711}', "4711", true],
    ['{"a":"4711"}', "4711", true],
    ['{"4711":1}', "4711", false],
    ['{"a":["x","\\u0034711"]}', "4711", true],
    ['{"a":47110}', "4711", false],
    ['{"a":"no 4711"}', "4711", false],
    ['{"a":"\\"4711\\""}', "4711", false],
    ['{"a":true}', "true", true],
    ['"4711"', "4711", true]
  ])("§10 %s holds %s: %s", (payload, word, isFound) => expect(holdsScalar(payload, word)).toBe(isFound))
})

describe("posthorn verify", () => {
  it("§10 asks Posthorn when it has no secret: right, right long ago, and wrong", async () => {
    const target = await receiver()
    const endpointId = await makeEndpoint(target.url, "cli.verified")
    await json("send", "cli.verified", '{"total":1.50}')
    await untilAsked(
      () => target.got.length,
      (n) => n === 1
    )
    const [{ body, headers }] = target.got as [(typeof target.got)[number]]
    target.close()
    const { body: rotated } = await call("POST", `/webhooks/${endpointId}/rotate-secret`)
    const request = (changed: Readonly<Record<string, unknown>>, text = body) =>
      `${Object.entries({ ...headers, ...changed })
        .map(([name, value]) => `${name}: ${value}`)
        .join("\n")}\n\n${text}`
    const verify = (input: string, ...words: ReadonlyArray<string>) =>
      runCommand(["verify", ...words], asked(), input)
    const old = Math.floor(Date.now() / 1000) - 3_600
    const signed = sign({
      secrets: [rotated.signingSecret],
      id: String(headers["webhook-id"]),
      timestamp: old,
      body
    })

    const right = await verify(request({}))
    expect([right.code, right.out]).toEqual([0, expect.stringMatching(/^previous_secret: /)])
    expect((await verify(request({}, "{}"), "--endpoint", endpointId)).err).toMatch(/^body_changed: /)
    const late = await verify(request({ "webhook-timestamp": old, "webhook-signature": signed }))
    expect([late.code, late.err]).toEqual([1, expect.stringMatching(/^The signature is right, but /)])
    const wrong = await verify(
      request({
        "webhook-signature": sign({
          secrets: [generateSecret()],
          id: String(headers["webhook-id"]),
          timestamp: old,
          body
        })
      })
    )
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/^wrong_secret: /)])
    const lost = await verify("content-type: application/json\n\n{}")
    expect([lost.code, lost.err]).toEqual([1, expect.stringContaining("--endpoint whe_")])
  })
})

describe("docs/cli.md", () => {
  it("§10 has a row for each of these commands", () => {
    const guide = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8")
    for (const name of [
      "events",
      "find",
      "audit",
      "tokens",
      "members",
      "notifications",
      "workspaces",
      "endpoints update",
      "settings"
    ])
      expect(guide).toMatch(new RegExp(`^\\|.*\`${name}`, "m"))
  })
})
