/** The story of docs/filters.md: a customer narrows an endpoint, asks why an event did not come, and has it sent after all. */
import { untilAsked } from "@posthorn/testkit/Until"
import { beforeAll, expect, it } from "vitest"
import { enter, settled } from "./Browser.ts"
import { inChromium } from "./InChromium.ts"

inChromium("filters in the console", (on) => {
  const slug = "filters"
  let endpointId: string

  const publish = async (amount: number) =>
    String(
      (
        await on.stage.api("POST", `/workspaces/${slug}/events`, {
          eventType: "invoice.paid",
          payload: { amount, currency: "EUR", customer: { name: "Zoë" } }
        })
      ).id
    )

  /** The amounts that the receiver has got. */
  const received = () =>
    on.receiver.seen.flatMap(({ body }) => /"amount":(\d+)/.exec(body)?.[1] ?? []).map(Number)

  const at = (path: string) => `${on.stage.url}/console/w/${slug}${path}`

  beforeAll(async () => {
    await on.stage.start("work")
    await on.stage.api("POST", "/workspaces", { slug, name: "Filters" })
    for (const amount of [50, 1_200, 2_000]) await publish(amount)
    endpointId = String(
      (
        await on.stage.api("POST", `/workspaces/${slug}/webhooks`, {
          url: on.receiver.url,
          eventTypes: ["invoice.*"]
        })
      ).id
    )
  }, 180_000)

  it("§6.3 a customer narrows an endpoint, asks why an event did not come, widens it, and has the event sent", async () => {
    const { page } = await on.open()
    await enter(page, on.stage, slug)
    await page.goto(at(`/endpoints/${endpointId}?tab=settings`))
    await page.getByRole("button", { name: "Add a filter" }).click()
    await page.getByText("3 of the last 3 events would have come through.").waitFor()
    const filter = page.getByRole("textbox", { name: "Filter" })
    await filter.fill('{"amount": {"$gte": true}}')
    await page.getByText("Line 1, /amount/$gte: Expected a number or a string").waitFor()
    expect(await page.getByRole("button", { name: "Save" }).isEnabled()).toBe(false)
    await filter.fill('{"amount": {"$gte": 1000.00}}')
    await page.getByText("2 of the last 3 events would have come through.").waitFor()
    const reasons = page.getByRole("list", { name: "Why not the others" })
    expect(await reasons.getByRole("listitem").allInnerTexts()).toEqual([
      '1 event: /amount does not meet {"$gte":1000}'
    ])
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Saved", { exact: true }).waitFor()

    await publish(1_500)
    const small = await publish(80)
    await untilAsked(
      async () => received(),
      (amounts) => amounts.length > 0
    )
    expect(received()).toEqual([1_500])

    await page.goto(at(`/events/${small}`))
    const who = page.getByRole("table", { name: "Who got it" })
    await who.getByText("Filtered out").waitFor()
    await who.getByText('/amount does not meet {"$gte":1000}').waitFor()
    await who.getByRole("link", { name: "Change what it wants" }).click()

    await settled(page)
    // As it was put.
    expect(await filter.inputValue()).toBe('{\n  "amount": {\n    "$gte": 1000.00\n  }\n}')
    await page.getByRole("button", { name: /In recent payloads/ }).click()
    await page.getByRole("option", { name: "/amount" }).click()
    await page.getByRole("button", { name: /Condition/ }).click()
    await page.getByRole("option", { name: "is at least 80", exact: true }).click()
    await page.getByRole("button", { name: "Add condition" }).click()
    await page.getByText("4 of the last 5 events would have come through.").waitFor()
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Saved", { exact: true }).waitFor()

    await page.goto(at(`/events/${small}`))
    await who.getByText("Changed since").waitFor()
    await who.getByRole("link", { name: "Send what it did not get" }).click()
    await page.getByText("of them never sent").waitFor()
    await page.getByRole("button", { name: "Replay 1" }).waitFor()
    await page.getByRole("button", { name: /When the event was published/ }).click()
    await page.getByRole("option", { name: "The last 7 days" }).click()
    // The two from before the endpoint was made, and the one that was filtered out.
    await page.getByRole("button", { name: "Replay 3" }).click()
    await page.getByText("Done: 3 deliveries were made anew").waitFor()
    await untilAsked(
      async () => received(),
      (amounts) => amounts.length === 4
    )
    expect(
      received()
        .slice(1)
        .sort((one, other) => one - other)
    ).toEqual([80, 1_200, 2_000])
    await page.goto(at(`/events/${small}`))
    await who.getByRole("link", { name: "Open the delivery" }).waitFor()
  }, 180_000)
})
