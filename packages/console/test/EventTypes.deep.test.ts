/** The page of the event catalogue, as a customer reads it. */
import { untilAsked } from "@posthorn/testkit/Until"
import { beforeAll, expect, it } from "vitest"
import { enter, settled, violations } from "./Browser.ts"
import { catalogue } from "./Catalogue.ts"
import { inChromium } from "./InChromium.ts"

inChromium("the console's event types", (on) => {
  const slug = "types"
  const at = (path: string) => `${on.stage.url}/console/w/${slug}${path}`

  beforeAll(async () => {
    await on.stage.api("POST", "/workspaces", { slug, name: "Types" })
    for (const [eventType, body] of catalogue) await on.stage.api("PUT", `/event-types/${eventType}`, body)
    await on.stage.api("POST", `/workspaces/${slug}/webhooks`, {
      url: on.receiver.url,
      eventTypes: ["invoice.*"]
    })
    await on.stage.start("work")
  }, 180_000)

  it("§11 finds a type, opens what is within its members, and sends its example as a test", async () => {
    const { page } = await on.open({ bypassCSP: true })
    await enter(page, on.stage, slug)
    await page.getByRole("link", { name: "Event types" }).click()
    await page.getByRole("heading", { name: "customer.created" }).waitFor()

    await page.getByLabel("Find an event type").fill("payments were")
    await page.getByRole("link", { name: "invoice.paid" }).click()
    await page.getByRole("heading", { name: "invoice.paid" }).waitFor()
    expect(await page.getByRole("navigation", { name: "Event types" }).getByRole("link").count()).toBe(1)

    const members = page.getByRole("table", { name: "Members of the payload" })
    expect(await members.getByText("sku").count()).toBe(0)
    await members.getByRole("button", { name: "Open lines" }).click()
    await members.getByText("Your article number.").waitFor()
    await page.getByRole("button", { name: "Open all" }).click()
    await members.getByText("last4").waitFor()
    await settled(page)
    expect(await violations(page)).toEqual([])

    await page.getByRole("button", { name: "Send as test" }).click()
    await page.getByText("Delivered").first().waitFor()
    await untilAsked(
      () => on.receiver.seen.map(({ body }) => JSON.parse(body) as { eventType: string; payload: unknown }),
      (all) => all.some(({ eventType, payload }) => eventType === "invoice.paid" && payload !== null)
    )

    await page.goto(at("/event-types?eventType=order.updated"))
    await page.getByText("Deprecated", { exact: true }).waitFor()
    await page.getByRole("main").getByRole("link", { name: "order.created" }).last().click()
    await page.getByRole("heading", { name: "order.created" }).waitFor()
  }, 120_000)

  it("§11 offers the described types, by group and with what they mean, for a new endpoint", async () => {
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await page.goto(at("/endpoints/new"))
    const known = page.getByRole("region", { name: "Known event types" })
    await known.getByRole("heading", { name: "Shipping" }).waitFor()
    await page.getByRole("textbox", { name: "Event types" }).fill("parcel")
    await known.getByText("The parcel arrived.").waitFor()
    expect(await known.getByRole("heading").allInnerTexts()).toEqual(["Shipping"])
    await known.getByText("shipment.delivered").click()
    await page.getByLabel("URL").fill("https://example.com/hooks")
    await page.getByRole("button", { name: "Create endpoint" }).click()
    await page.getByText("It receives from now on.").waitFor()
    const [endpoint] = (await on.stage.api("GET", `/workspaces/${slug}/webhooks?search=example.com`))
      .items as ReadonlyArray<{ readonly eventTypes: ReadonlyArray<string> }>
    expect(endpoint?.eventTypes).toEqual(["shipment.delivered"])
  }, 120_000)

  it("§11 fits 390 pixels with everything open, in one column", async () => {
    const { page } = await on.open({ viewport: { width: 390, height: 844 } })
    await enter(page, on.stage, slug)
    await page.goto(at("/event-types"))
    expect(await page.getByRole("heading", { name: "customer.created" }).isVisible()).toBe(false)
    await page.getByRole("link", { name: "invoice.paid" }).click()
    await page.getByRole("button", { name: "Open all" }).click()
    await settled(page)
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)
    ).toBe(true)
    await page.getByRole("link", { name: "All event types" }).click()
    await page.getByLabel("Find an event type").waitFor()
  }, 120_000)
})
