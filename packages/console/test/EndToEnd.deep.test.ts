/** The console as people use it, story by story. EndToEnd.test.ts has the first story, from a link to a delivery. */

import { untilAsked } from "@posthorn/testkit/Until"
import type { Page } from "playwright-core"
import { beforeAll, expect, it } from "vitest"
import { enter, settled } from "./Browser.ts"
import { inChromium } from "./InChromium.ts"
import { OPERATOR_TOKEN } from "./Stage.ts"

inChromium("the console in Chromium", (on) => {
  let workspaces = 0

  beforeAll(() => on.stage.start("work"))

  const makeWorkspace = async () => {
    const slug = `team-${++workspaces}`
    await on.stage.api("POST", "/workspaces", { slug, name: `Team ${workspaces}` })
    return slug
  }

  const makeEndpoint = async (slug: string, more: object = {}) =>
    String(
      (
        await on.stage.api("POST", `/workspaces/${slug}/webhooks`, {
          url: on.receiver.url,
          eventTypes: ["*"],
          ...more
        })
      ).id
    )

  const publish = (slug: string, count = 1) =>
    on.stage.api("POST", `/workspaces/${slug}/events/batch`, {
      events: Array.from({ length: count }, (_, id) => ({ eventType: "invoice.paid", payload: { id } }))
    })

  const until = (holds: () => Promise<boolean>) => untilAsked(holds, (yes) => yes)

  const go = (page: Page, name: string) =>
    page.getByRole("navigation", { name: "Main" }).getByRole("link", { name }).click()

  it("§11 signs in with a pasted token, and says what is wrong with another", async () => {
    const slug = await makeWorkspace()
    const { token } = await on.stage.api("POST", `/workspaces/${slug}/api-tokens`, {
      name: "T",
      scopes: ["read"]
    })
    const { page } = await on.open()
    await page.goto(`${on.stage.url}/console/`)
    await page.getByLabel("API token").fill("phk_wrong")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByText("This is not a token that is valid here").waitFor()
    await page.getByLabel("API token").fill(String(token))
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("heading", { name: "Overview" }).waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("API token").waitFor()
    await page.goto(`${on.stage.url}/console/w/${slug}/overview`)
    await page.getByRole("heading", { name: "Sign in" }).waitFor()
  })

  it("§2.1 rotates a secret, shows it once, and counts down while the old one also signs", async () => {
    const slug = await makeWorkspace()
    const endpointId = await makeEndpoint(slug)
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await page.goto(`${on.stage.url}/console/w/${slug}/endpoints/${endpointId}?tab=secret`)
    await page.getByRole("button", { name: "Rotate secret" }).click()
    await page.getByRole("button", { name: "Rotate now" }).click()
    const secret = await page.getByRole("region", { name: "Signing secret" }).innerText()
    await page.getByText(/The old secret also signs for 23:5\d:\d\d/).waitFor()
    await page.reload()
    await page.getByText(/The old secret also signs for/).waitFor()
    expect(await page.content()).not.toContain(secret)
    await page.getByRole("button", { name: "Rotate secret" }).click()
    await page.getByText("stops signing at once").waitFor()
    await page.keyboard.press("Escape")
  })

  it("§2.3 shows attempts with their answers as text, the reason in plain words, and replays", async () => {
    const slug = await makeWorkspace()
    on.receiver.answer.status = 404
    const endpointId = await makeEndpoint(slug, { description: "مرحبا <b>RTL</b>" })
    await publish(slug)
    const list = `/workspaces/${slug}/webhooks/${endpointId}/deliveries`
    const items = async () =>
      (await on.stage.api("GET", list)).items as ReadonlyArray<{ id: string; status: string }>
    await until(async () => (await items())[0]?.status === "failed_permanent")
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await go(page, "Deliveries")
    await page.getByRole("link", { name: "invoice.paid" }).click()
    await page.getByRole("button", { name: "Copy as cURL" }).waitFor()
    await page.getByText("Answered 404").first().waitFor()
    await page.getByText("<script>document.title = 'taken over'</script>").waitFor()
    expect(await page.title()).toContain("invoice.paid")

    on.receiver.answer.status = 200
    await page.getByRole("button", { name: "Replay" }).click()
    await page.getByText("Delivered", { exact: true }).first().waitFor()
    await page.getByRole("link", { name: (await items())[1]!.id }).waitFor()
    await page.getByRole("button", { name: "Resend" }).click()
    await until(async () => (await items()).length === 3)
    await page.getByRole("link", { name: (await items())[1]!.id }).waitFor()
    await page.goBack()
    await page.goBack()
    await page.getByText("Refused", { exact: true }).first().waitFor()
  })

  it("§11 recovers from a disabled endpoint to everything replayed, by keyboard, in 5 actions", async () => {
    const slug = await makeWorkspace()
    on.receiver.answer.status = 500
    const endpointId = await makeEndpoint(slug)
    await publish(slug, 6)
    const detail = () => on.stage.api("GET", `/workspaces/${slug}/webhooks/${endpointId}`)
    await until(async () => (await detail()).enabled === false)
    await publish(slug, 3)
    on.receiver.answer.status = 200
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    const actions: Array<string> = []
    const press = async (name: string | RegExp) => {
      const control = page
        .getByRole("main")
        .getByRole("button", { name })
        .or(page.getByRole("main").getByRole("link", { name }))
        .first()
      await control.waitFor()
      await expect.poll(() => control.isEnabled()).toBe(true)
      for (
        let turn = 0;
        turn < 60 && !(await control.evaluate((each) => each === document.activeElement));
        turn++
      )
        await page.keyboard.press("Tab")
      expect(await control.evaluate((each) => each === document.activeElement)).toBe(true)
      await page.keyboard.press("Enter")
      actions.push(String(name))
    }
    await page.goto(`${on.stage.url}/console/w/${slug}/endpoints/${endpointId}`)
    await page.getByText("Disabled after too many failed attempts in a row").waitFor()
    await press("Recover")
    await press("Enable")
    await press("Send test event")
    await page.getByText("Delivered", { exact: true }).waitFor()
    await press(/^Replay/)
    await page.getByText(/Done: \d+ deliver/).waitFor()
    expect(actions.length).toBeLessThanOrEqual(5)
    await until(async () => {
      const { items } = await on.stage.api(
        "GET",
        `/workspaces/${slug}/webhooks/${endpointId}/deliveries?status=delivered`
      )
      return (
        new Set((items as ReadonlyArray<{ eventId: string | null }>).map(({ eventId }) => eventId)).size >= 9
      )
    })
  }, 90_000)

  it("§11 shows a viewer no action that a viewer may not take", async () => {
    const slug = await makeWorkspace()
    const endpointId = await makeEndpoint(slug)
    const { page } = await on.open()
    await enter(page, on.stage, slug, { role: "viewer" })
    const places = await page.getByRole("navigation", { name: "Main" }).getByRole("link").allInnerTexts()
    expect(places.map((place) => place.split("\n")[0])).toEqual([
      "Overview",
      "Endpoints",
      "Deliveries",
      "Events",
      "Event types",
      "Notifications",
      "Members",
      "Settings",
      "Connect"
    ])
    const forbidden = [
      "New endpoint",
      "Create endpoint",
      "Send test event",
      "Rotate secret",
      "Enable",
      "Disable",
      "Delete",
      "Replay",
      "Resend",
      "Recover",
      "Add member",
      "Save",
      "Publish event",
      "Mark as read"
    ]
    for (const path of [
      "/overview",
      "/endpoints",
      `/endpoints/${endpointId}`,
      `/endpoints/${endpointId}?tab=settings`,
      `/endpoints/${endpointId}?tab=policy`,
      `/endpoints/${endpointId}?tab=secret`,
      "/deliveries",
      "/events",
      "/notifications",
      "/members",
      "/settings"
    ]) {
      await page.goto(`${on.stage.url}/console/w/${slug}${path}`)
      await settled(page)
      for (const name of forbidden)
        for (const role of ["button", "link"] as const)
          expect([path, name, await page.getByRole(role, { name, exact: true }).count()]).toEqual([
            path,
            name,
            0
          ])
    }
    const answer = await page.evaluate(
      async ([path]) => (await fetch(path!, { method: "DELETE", headers: { "x-console": "1" } })).status,
      [`/console/api/workspaces/${slug}/webhooks/${endpointId}`]
    )
    expect(answer).toBe(403)
  })

  it("§4.5 finds an event by its key and by its content, and a change by its author", async () => {
    const slug = await makeWorkspace()
    const publishOne = (id: number, idempotencyKey?: string) =>
      on.stage.api("POST", `/workspaces/${slug}/events`, {
        eventType: "order.paid",
        payload: { order: { id } },
        ...(idempotencyKey !== undefined && { idempotencyKey })
      })
    const keyed = await publishOne(4710, "order 4710")
    const wanted = await publishOne(4711)
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await go(page, "Events")
    const rows = page.getByRole("table", { name: "Events" }).getByRole("row")
    const shows = (id: unknown) =>
      until(async () => (await rows.count()) === 2 && (await rows.nth(1).innerText()).includes(String(id)))
    await page.getByLabel("Value in the payload").fill("order.id=4711")
    await page.getByText("Write where it stands and what").waitFor()
    await page.getByLabel("Value in the payload").fill("/order/id=4711")
    await page.getByLabel("Value in the payload").press("Enter")
    await shows(wanted.id)
    await page.getByRole("button", { name: "Clear filters" }).click()
    await page.getByLabel("Idempotency key").fill("order 4710")
    await page.getByLabel("Idempotency key").press("Enter")
    await shows(keyed.id)

    await go(page, "Audit log")
    await page.getByLabel("Who").fill("nobody")
    await page.getByLabel("Who").press("Enter")
    await page.getByText("No changes match").waitFor()
    await page.getByLabel("Who").fill("operator")
    await page.getByLabel("Who").press("Enter")
    await page.getByRole("table", { name: "Audit log" }).getByText("Workspace created").waitFor()
  })

  it("§5.2 shows all workspaces to the operator, and opens one", async () => {
    const slug = await makeWorkspace()
    const endpointId = await makeEndpoint(slug)
    await on.stage.api("PATCH", `/workspaces/${slug}/webhooks/${endpointId}`, { enabled: false })
    const { page } = await on.open()
    const show = async (token: string) => {
      await page.getByLabel("Operator’s token").fill(token)
      await page.getByRole("button", { name: "Show workspaces" }).click()
    }
    await page.goto(`${on.stage.url}/console/fleet`)
    await show("op_wrong")
    await page.getByText("This is not an operator’s token that is valid here").waitFor()
    await show(OPERATOR_TOKEN)
    const row = page.getByRole("row", { name: slug })
    await row.waitFor()
    const cells = (await row.getByRole("cell").allInnerTexts()).slice(1, 6)
    expect(cells).toEqual(["0", "–", "1", "0", "1"])
    await row.getByRole("button", { name: "Open" }).click()
    await page.getByRole("button", { name: "Sign in with this link" }).click()
    await page.getByRole("heading", { name: "Overview" }).waitFor()
    expect(page.url()).toContain(`/w/${slug}/`)
  })

  it("§11 reports that the session was revoked while the page is open", async () => {
    const slug = await makeWorkspace()
    const made = await on.stage.api("POST", `/workspaces/${slug}/api-tokens`, {
      name: "T",
      scopes: ["admin"]
    })
    const { page } = await on.open()
    await page.goto(`${on.stage.url}/console/sign-in`)
    await page.getByLabel("API token").fill(String(made.token))
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("heading", { name: "Overview" }).waitFor()
    await go(page, "Deliveries")
    await page.getByText("No delivery yet").waitFor()
    await on.stage.api("DELETE", `/workspaces/${slug}/api-tokens/${made.id}`)
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor()
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByLabel("API token").waitFor()
  })

  it("§11 keeps two workspaces in one browser apart", async () => {
    const [one, other] = [await makeWorkspace(), await makeWorkspace()]
    await makeEndpoint(one, { description: "of the one" })
    await makeEndpoint(other, { description: "of the other" })
    const { context, page } = await on.open()
    await enter(page, on.stage, one)
    const second = await context.newPage()
    await enter(second, on.stage, other)
    await go(page, "Endpoints")
    await go(second, "Endpoints")
    await page.getByText("of the one").waitFor()
    await second.getByText("of the other").waitFor()
    expect(await page.getByText("of the other").count()).toBe(0)
    await page.reload()
    await page.getByRole("list", { name: "Other workspaces" }).getByRole("link").click()
    await page.waitForURL(`**/w/${other}/overview`)
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("API token").waitFor()
    await page.goto(`${on.stage.url}/console/`)
    await page.waitForURL(`**/w/${one}/overview`)
  })

  it("§11 keeps filters in the address, through back and reload", async () => {
    const slug = await makeWorkspace()
    await makeEndpoint(slug)
    await publish(slug, 3)
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await go(page, "Deliveries")
    await page.getByRole("link", { name: "invoice.paid" }).first().waitFor()
    await page.getByRole("button", { name: /Status/ }).click()
    await page.getByRole("option", { name: /Given up/ }).click()
    await page.waitForURL("**/deliveries?status=dead_lettered")
    await page.getByText("No deliveries match").waitFor()
    await page.reload()
    await page.getByText("No deliveries match").waitFor()
    await page.goBack()
    await page.getByRole("link", { name: "invoice.paid" }).first().waitFor()
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("k")
    await page.keyboard.press("Enter")
    await page.waitForURL(/deliveries\/whd_/)
    await page.reload()
    await page.getByRole("heading", { name: "Payload" }).waitFor()
    await page.goBack()
    await page.waitForURL("**/deliveries")
    await page.getByRole("link", { name: "invoice.paid" }).first().waitFor()
    await page.keyboard.press("/")
    await page.keyboard.type("no.such")
    await page.keyboard.press("Enter")
    await page.waitForURL("**/deliveries?eventType=no.such")
    await page.keyboard.press("Control+k")
    await page.getByRole("dialog", { name: "Go to" }).waitFor()
    await page.keyboard.type("audit")
    await page.keyboard.press("Enter")
    await page.waitForURL("**/audit-log")
    await page.keyboard.press("?")
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
    await page.keyboard.press("Escape")
    await page.keyboard.press("g")
    await page.keyboard.press("e")
    await page.waitForURL("**/endpoints")
  })

  it("§2.3 shows a payload of a mebibyte and a URL of 2,000 characters without breaking", async () => {
    const slug = await makeWorkspace()
    const endpointId = await makeEndpoint(slug, { url: `${on.receiver.url}?${"x".repeat(1900)}` })
    const payload = { text: "y".repeat(1_000_000), big: 1 }
    await on.stage.api("POST", `/workspaces/${slug}/events`, { eventType: "a.big", payload })
    const { page } = await on.open({ viewport: { width: 320, height: 640 } })
    await enter(page, on.stage, slug)
    const fits = () =>
      page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)
    for (const path of ["/endpoints", `/endpoints/${endpointId}`, "/deliveries"]) {
      await page.goto(`${on.stage.url}/console/w/${slug}${path}`)
      await settled(page)
      expect([path, await fits()]).toEqual([path, true])
    }
    await page.getByRole("link", { name: "a.big" }).click()
    await page.getByRole("region", { name: "Payload" }).waitFor()
    expect((await page.getByRole("region", { name: "Payload" }).innerText()).length).toBeGreaterThan(
      1_000_000
    )
    expect(await fits()).toBe(true)
  })

  it("§2.6 adds a member, makes a token that is shown once, and finds both in the audit log", async () => {
    const slug = await makeWorkspace()
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await go(page, "Members")
    await page.getByRole("button", { name: "Add member" }).first().click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("Ada")
    await dialog.getByLabel("Email").fill("ada@example.com")
    await dialog.getByRole("button", { name: "Add member" }).click()
    await page.getByText("ada@example.com").waitFor()
    await go(page, "API tokens")
    await page.getByRole("button", { name: "New token" }).first().click()
    await dialog.getByLabel("Name").fill("Billing")
    await dialog.getByRole("button", { name: "Create token" }).click()
    const token = await page.getByRole("region", { name: "API token" }).innerText()
    expect(token).toMatch(/^phk_/)
    await page.getByRole("button", { name: "I have stored it" }).click()
    await page.getByRole("table", { name: "API tokens" }).getByText("Billing").waitFor()
    expect(await page.content()).not.toContain(token)
    await go(page, "Audit log")
    const log = page.getByRole("table", { name: "Audit log" })
    await log.getByText("API token created").waitFor()
    await log.getByText("Member added").waitFor()
    expect(await page.content()).not.toContain(token)
    await go(page, "Events")
    await page.getByRole("button", { name: "Publish event" }).click()
    await dialog.getByLabel("Event type").fill("by.hand")
    await dialog.getByLabel("Payload").fill('{"n":9007199254740993}')
    await dialog.getByRole("button", { name: "Publish" }).click()
    await page.getByText("No enabled endpoint wants this type.").waitFor()
    await page.getByRole("link", { name: "Open the event" }).click()
    await page.getByText("9007199254740993").waitFor()
  })

  it("§11 reports an unreachable server, and continues by itself when it is back", async () => {
    const slug = await makeWorkspace()
    await makeEndpoint(slug, { description: "still here" })
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await go(page, "Endpoints")
    await page.getByText("still here").waitFor()
    await on.stage.stop("serve")
    await page.getByText("The server does not answer").waitFor({ timeout: 30_000 })
    expect(await page.getByText("still here").count()).toBe(1)
    await on.stage.start("serve")
    await page.getByText("The server does not answer").waitFor({ state: "detached", timeout: 30_000 })
    await page.getByText("still here").waitFor()
  }, 90_000)

  it("§2.9 checks whether a token can be fetched, with what is saved", async () => {
    const slug = await makeWorkspace()
    const endpointId = await makeEndpoint(slug)
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await page.goto(`${on.stage.url}/console/w/${slug}/endpoints/${endpointId}?tab=request`)
    await page.getByRole("button", { name: "Kind" }).click()
    await page.getByRole("option", { name: "OAuth token" }).click()
    await page.getByLabel("Token URL").fill("https://10.0.0.1/token")
    await page.getByLabel("Client ID").fill("posthorn")
    await page.getByLabel("Client secret").fill("a-client-secret")
    expect(await page.getByRole("button", { name: "Check it" }).isDisabled()).toBe(true)
    await page.getByRole("button", { name: "Save request" }).click()
    await page.getByText("This URL is refused").waitFor()
    await page.getByLabel("Token URL").fill(on.receiver.url)
    await page.getByRole("button", { name: "Save request" }).click()
    await page.getByText("Saved", { exact: true }).waitFor()

    on.receiver.answer.status = 401
    await page.getByRole("button", { name: "Check it" }).click()
    await page.getByText("The token endpoint answered 401").waitFor()
    const { body } = on.receiver.answer
    on.receiver.answer.status = 200
    on.receiver.answer.body = '{"access_token":"t-0f8b2c","token_type":"Bearer","expires_in":7200}'
    await page.getByRole("button", { name: "Check it" }).click()
    await page.getByText("It works").waitFor()
    on.receiver.answer.body = body
    await page.getByText("The token expires").waitFor()
    expect(await page.content()).not.toMatch(/a-client-secret|t-0f8b2c/)
  }, 120_000)

  it("§2.9 edits a request with a live preview, and never shows a stored secret again", async () => {
    const slug = await makeWorkspace()
    const endpointId = await makeEndpoint(slug)
    const { page } = await on.open({ permissions: ["clipboard-read", "clipboard-write"] })
    await enter(page, on.stage, slug)
    const open = (tab: string) =>
      page.goto(`${on.stage.url}/console/w/${slug}/endpoints/${endpointId}?tab=${tab}`)
    const save = () => page.getByRole("button", { name: "Save request" }).click()
    const preview = page.getByRole("region", { name: "Headers of the sample request" })
    const request = async () =>
      (await on.stage.api("GET", `/workspaces/${slug}/webhooks/${endpointId}`)).request
    await open("request")
    expect(await preview.innerText()).toContain("webhook-signature: v1,<signature>")

    await page.getByRole("button", { name: "Add a header" }).click()
    const header = page.getByRole("group", { name: "Header 1" })
    await header.getByLabel("Name").fill("host")
    await header.getByLabel("Value").fill("0f8b2c-hidden")
    await header.getByRole("checkbox", { name: "Secret" }).check({ force: true })
    await save()
    await header.getByText("This header is Posthorn's own").waitFor()
    await page.getByText("Not saved: the fields above").waitFor()
    await header.getByLabel("Name").fill("x-api-key")
    await page.getByRole("button", { name: "Kind" }).click()
    await page.getByRole("option", { name: "Bearer token" }).click()
    await page.getByLabel("Token", { exact: true }).fill("a-token-of-ours")
    await page.getByRole("button", { name: "Shape" }).click()
    await page.getByRole("option", { name: "Standard Webhooks" }).click()
    await page.getByRole("button", { name: "Add a signature" }).click()
    await page.getByRole("button", { name: "Stripe-style" }).click()
    expect(await preview.innerText()).toMatch(/stripe-signature: t=\d+,v1=<signature>/)
    expect(await preview.innerText()).toContain("x-api-key: sealed:…")
    expect(await page.getByRole("region", { name: "Body of the sample request" }).innerText()).toMatch(
      /^\{"type":"invoice.paid","timestamp":"20.*","data":\{"id":7/
    )
    await save()
    await page.getByText("Saved", { exact: true }).waitFor()
    expect(await request()).toMatchObject({
      headers: [{ name: "x-api-key", secret: true }],
      authentication: { kind: "bearer", secret: true },
      body: "standard",
      signatures: [{ scheme: "standard_v1" }, { scheme: "hmac", header: "stripe-signature" }]
    })

    await page.reload()
    await header.getByText("Stored, fingerprint").waitFor()
    expect(await page.content()).not.toMatch(/0f8b2c-hidden|a-token-of-ours/)
    await page.getByRole("button", { name: "Language" }).click()
    await page.getByRole("option", { name: "Python" }).click()
    const verifier = page.getByRole("region", { name: "Python: HMAC in stripe-signature" })
    expect(await verifier.innerText()).toContain("hmac.compare_digest")

    // A secret that is not replaced is kept: the receiver gets it, and the evidence does not.
    await page.getByRole("button", { name: "Add a header" }).click()
    const second = page.getByRole("group", { name: "Header 2" })
    await second.getByLabel("Name").fill("x-region")
    await second.getByLabel("Value").fill("eu-1")
    await save()
    await page.getByText("Saved", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Send test event" }).click()
    await page.getByText("Delivered", { exact: true }).waitFor()
    expect(on.receiver.seen.at(-1)!.headers).toMatchObject({
      authorization: "Bearer a-token-of-ours",
      "x-api-key": "0f8b2c-hidden",
      "x-region": "eu-1"
    })
    await page.getByRole("link", { name: "See what was sent and answered" }).click()
    await page.getByText("stands for a secret that was sent").waitFor()
    expect(await page.content()).toMatch(/authorization: sealed:[0-9a-f]{16}/)
    await page.getByRole("button", { name: "Copy as cURL" }).click()
    const command = () => page.evaluate(() => navigator.clipboard.readText())
    await until(async () => (await command()).endsWith(`--data-raw '${on.receiver.seen.at(-1)!.body}'`))

    // No stored secret goes to another address unless it is given for it.
    const elsewhere = on.receiver.url.replace("127.0.0.1", "127.0.0.2")
    await open("settings")
    await page.getByLabel("URL", { exact: true }).fill(elsewhere)
    await page.getByLabel("Value of x-api-key").fill("for-the-new-one")
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("The URL's origin or path changes: send this secret again").waitFor()
    await page.getByLabel("Token", { exact: true }).fill("another-token")
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("Saved", { exact: true }).waitFor()
    expect((await on.stage.api("GET", `/workspaces/${slug}/webhooks/${endpointId}`)).url).toBe(elsewhere)

    await open("request")
    await page.getByRole("button", { name: "Remove x-api-key" }).click()
    await page.getByRole("button", { name: "Remove x-region" }).click()
    await page.getByRole("button", { name: "Kind" }).click()
    await page.getByRole("option", { name: "None" }).click()
    await page.getByRole("button", { name: "Shape" }).click()
    await page.getByRole("option", { name: "Envelope" }).click()
    await page.getByRole("button", { name: "Remove signature 2" }).click()
    await save()
    await page.getByText("Saved", { exact: true }).waitFor()
    expect(await request()).toBeNull()
  }, 120_000)

  it("§3.5 draws a policy before it is saved, and shows the workspace's where the endpoint has none", async () => {
    const slug = await makeWorkspace()
    const id = await makeEndpoint(slug)
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    const choose = async (label: string, choice: string | RegExp) => {
      await page.getByRole("button", { name: label }).click()
      await page.getByRole("option", { name: choice }).click()
    }
    const tried = page.getByRole("list", { name: "When it is tried" })

    await page.goto(`${on.stage.url}/console/w/${slug}/settings`)
    await choose("Retries", /^Patient/)
    await tried.getByText("given up after 3 days 3 h").waitFor()
    await choose("Jitter", "Up to 50 % longer")
    await page.getByText("With jitter at most after 4 days 17 h").waitFor()
    await page.getByRole("button", { name: "Save policy" }).click()
    await page.getByText("Saved").waitFor()

    await page.goto(`${on.stage.url}/console/w/${slug}/endpoints/${id}?tab=policy`)
    await page.getByRole("button", { name: "As the workspace: patient" }).waitFor()
    await choose("Retries", "Waits of your own")
    await page.getByLabel("Seconds before each retry").fill("60, 99999999")
    await choose("Disable the endpoint", "After failing for a time")
    await page.getByLabel("Hours").fill("48")
    await page.getByText("Write whole numbers from 1 to 604800").waitFor()
    expect(await page.getByRole("button", { name: "Save policy" }).isDisabled()).toBe(true)
    await page.getByLabel("Seconds before each retry").fill("60, 3600")
    await tried.getByText("given up after 1 h 1 min").waitFor()
    await page.getByRole("button", { name: "Save policy" }).click()
    await page.getByText("Saved").waitFor()

    expect((await on.stage.api("GET", `/workspaces/${slug}/webhooks/${id}`)).effectivePolicy).toMatchObject({
      retries: { kind: "waits", seconds: [60, 3600] },
      jitter: 0.5,
      disableAfter: { kind: "failing_for", seconds: 172_800 },
      givesUpAfterSeconds: 3660
    })
  })
})
