/** `export`, `plan` and `apply` as processes, against a real Posthorn. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { runCommand } from "@posthorn/testkit/Command"
import { expect, it } from "vitest"
import { parse } from "yaml"
import { asked, call, folder, OPERATOR_TOKEN, posthorn, runDev } from "../remote/Remote.ts"
import { checkWorkspaces } from "./Workspaces.ts"

runDev()

it("§13 a thousand workspaces are as the files that were written of them say", () => checkWorkspaces(1_000))

const file = join(folder, "posthorn.yaml")

const endpoints = async () => (await call("GET", "/webhooks?limit=200")).body.items

it("§13 what export writes is what is there, also in another workspace; what is changed in it is planned and applied", async () => {
  const request = {
    headers: [{ name: "x-key", value: "hush", secret: true }],
    authentication: { kind: "bearer", token: "hunter2" }
  }
  const made = { url: "https://example.com/orders", eventTypes: ["order.*"], externalId: "orders", request }
  await call("POST", "/webhooks", { ...made, filter: { total: { $gt: 12.5 } }, metadata: { team: "a" } })
  await call("POST", "/webhooks", {
    url: "https://example.com/b",
    eventTypes: ["*"],
    externalId: "b",
    enabled: false
  })

  const exported = await posthorn("export")
  writeFileSync(file, exported.out)
  const same = await posthorn("plan", file, "--prune")
  const before = await endpoints()
  writeFileSync(file, exported.out.replace("team: a", "team: b").replace("order.*", "orders.*"))
  const planned = await posthorn("plan", file)
  const unasked = await posthorn("apply", file)
  const applied = await posthorn("apply", file, "--yes")
  const after = await posthorn("plan", file)

  expect(exported.out).not.toMatch(/hush|hunter2/)
  expect(exported.err).toContain("without external id")
  expect(same).toEqual({ code: 0, out: "", err: "All is as the file says.\n" })
  expect(planned).toMatchObject({ code: 2, err: expect.stringMatching(/^1 change: /) })
  expect(planned.out).toBe(`~ endpoint orders
    eventTypes: ["order.*"] → ["orders.*"]
    metadata: {"team":"a"} → {"team":"b"}
`)
  expect(unasked).toMatchObject({
    code: 1,
    err: "Nothing was changed: say --yes, or call it in a terminal.\n"
  })
  expect(applied).toMatchObject({ code: 0, err: "1 change made.\n" })
  expect(after.code).toBe(0)
  const orders = (all: ReadonlyArray<{ externalId: string }>) =>
    all.find(({ externalId }) => externalId === "orders")
  expect(await endpoints()).toHaveLength(before.length)
  expect(orders(await endpoints())).toMatchObject({
    metadata: { team: "b" },
    request: orders(before) && expect.anything()
  })

  const operator = { ...asked(), POSTHORN_TOKEN: OPERATOR_TOKEN }
  await runCommand(["workspace", "ensure", "copy"], operator)
  const inCopy = { ...operator, POSTHORN_WORKSPACE: "copy" }
  const secrets = { ORDERS_X_KEY: "k", ORDERS_AUTHENTICATION: "t" }
  const unset = await runCommand(["apply", file, "--yes"], inCopy)
  const copied = await runCommand(["apply", file, "--yes"], { ...inCopy, ...secrets })
  const copy = await runCommand(["export", "--json"], inCopy)

  expect(unset).toMatchObject({
    code: 1,
    err: "Not set: ORDERS_X_KEY, ORDERS_AUTHENTICATION. Nothing was changed.\n"
  })
  expect(copied).toMatchObject({ code: 0, err: "2 changes made.\n" })
  expect(JSON.parse(copy.out).endpoints).toEqual(parse(readFileSync(file, "utf8")).endpoints)
})

it("§13 where Posthorn refuses a change, apply stops and says what was done; event types need the operator's token", async () => {
  const url = "https://example.com/new"
  writeFileSync(
    file,
    JSON.stringify({
      endpoints: [
        { externalId: "first", url, eventTypes: ["a.b"] },
        { externalId: "second", url: "http://169.254.169.254/", eventTypes: ["a.b"] },
        { externalId: "third", url, eventTypes: ["a.b"] }
      ]
    })
  )
  const stopped = await posthorn("apply", file, "--yes")
  const names = (await endpoints()).map(({ externalId }: { externalId: string | null }) => externalId)
  writeFileSync(file, JSON.stringify({ eventTypes: [{ eventType: "a.b", description: "A b." }] }))
  const forbidden = await posthorn("plan", file)
  const operator = { ...asked(), POSTHORN_TOKEN: OPERATOR_TOKEN, POSTHORN_WORKSPACE: "acme" }
  const described = await runCommand(["apply", file, "--yes"], operator)
  const again = await runCommand(["plan", file], operator)
  const broken = [
    await posthorn("plan", join(folder, "none.yaml")),
    await posthorn("plan", file, "--prone"),
    await posthorn("plan"),
    await runCommand(["plan", file], {})
  ]

  expect(stopped.code).toBe(1)
  expect(stopped.err).toMatch(/^endpoint second: .+\nDone before:\n\+ endpoint first\n$/)
  expect(names).toContain("first")
  expect(names).not.toContain("third")
  expect(forbidden).toMatchObject({ code: 1, err: expect.stringContaining("operator") })
  expect(described).toMatchObject({ code: 0, err: "1 change made.\n" })
  expect(again.code).toBe(0)
  // 2 says that something would change, and nothing else.
  expect(broken.map(({ code }) => code)).toEqual([1, 1, 1, 1])
})
