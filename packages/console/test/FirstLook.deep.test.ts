/**
 * What a newcomer to the console sees: everything can be read and clicked, nothing is wrongly called a mistake, and links
 * lead where they say. Whole stories are in EndToEnd.
 */
import type { Page } from "playwright-core"
import { beforeAll, expect, it } from "vitest"
import { enter, settled } from "./Browser.ts"
import { inChromium } from "./InChromium.ts"

const LONG = `order.${"very_long_name".repeat(8)}`

inChromium("the console at first sight", (on) => {
  const slug = "first"
  let endpointId = ""
  let disabledId = ""
  const at = (path: string) => `${on.stage.url}/console/w/${slug}${path}`

  beforeAll(async () => {
    await on.stage.api("POST", "/workspaces", { slug, name: "First" })
    const register = async () =>
      String(
        (
          await on.stage.api("POST", `/workspaces/${slug}/webhooks`, {
            url: on.receiver.url,
            eventTypes: ["*"]
          })
        ).id
      )
    endpointId = await register()
    disabledId = await register()
    await on.stage.api("POST", `/workspaces/${slug}/events`, { eventType: LONG, payload: {} })
    // No worker runs, so published events wait.
    await on.stage.api("PATCH", `/workspaces/${slug}/webhooks/${disabledId}`, { enabled: false })
    await on.stage.sql(
      `insert into posthorn.notifications (workspace_id, kind, endpoint_id, delivery_id, message)
       select w.id, 'endpoint_disabled', d.endpoint_id, d.id, format('Endpoint %s was disabled after 20 failures in a row. Fix the receiver and enable the endpoint; then this sends all of it again: POST /workspaces/first/webhooks/%1$s/replays with {}.', d.endpoint_id)
       from posthorn.workspaces w join posthorn.deliveries d on d.workspace_id = w.id
       where w.slug = $1 and d.endpoint_id = $2`,
      [slug, disabledId]
    )
  }, 180_000)

  const visit = async (path: string, options = {}): Promise<Page> => {
    const { page } = await on.open(options)
    await enter(page, on.stage, slug)
    await page.goto(at(path))
    await settled(page)
    return page
  }

  it("§11 no text is smaller than 12 pixels, and targets are at least 24 high", async () => {
    const page = await visit("/overview")
    const small: Array<string> = []
    for (const path of ["/overview", "/deliveries", `/endpoints/${endpointId}`, "/api-tokens", "/connect"]) {
      await page.goto(at(path))
      await settled(page)
      small.push(
        ...(await page.evaluate(() =>
          [...document.querySelectorAll<HTMLElement>("body *")]
            .filter(
              (each) =>
                each.getClientRects().length > 0 &&
                [...each.childNodes].some(
                  ({ nodeType, textContent }) => nodeType === 3 && textContent?.trim()
                )
            )
            .filter((each) => Number.parseFloat(getComputedStyle(each).fontSize) < 12)
            .map((each) => `${each.textContent?.slice(0, 30)} ${getComputedStyle(each).fontSize}`)
        ))
      )
    }
    expect(small).toEqual([])
    const heights = await page
      .getByRole("navigation", { name: "Main" })
      .getByRole("link")
      .evaluateAll((links) => links.map((link) => link.getBoundingClientRect().height))
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(24)
  })

  it("§11 the scopes of a new token stand below each other", async () => {
    const page = await visit("/api-tokens")
    await page.getByRole("button", { name: "New token" }).first().click()
    const boxes = await page
      .getByRole("group", { name: "Scopes" })
      .locator("label")
      .evaluateAll((labels) =>
        labels.map((label) => {
          const own = label.getBoundingClientRect()
          const bottom = Math.max(
            ...[...label.querySelectorAll("span")].map((span) => span.getBoundingClientRect().bottom)
          )
          return { left: own.left, top: own.top, bottom }
        })
      )
    expect(boxes.length).toBeGreaterThan(4)
    for (const box of boxes)
      for (const below of boxes)
        if (below.left === box.left && below.top > box.top)
          expect(below.top).toBeGreaterThanOrEqual(box.bottom - 1)
  })

  it("§11 a URL that only this server allows is no mistake, and a refusal disappears with its value", async () => {
    const page = await visit(`/endpoints/${endpointId}?tab=settings`)
    const url = page.getByLabel("URL", { exact: true })
    expect(await url.inputValue()).toBe(on.receiver.url)
    expect(await url.getAttribute("aria-invalid")).not.toBe("true")
    await page.goto(at("/endpoints/new"))
    await url.fill("https://10.0.0.1/hooks")
    await page.getByText("only where its operator allows it").waitFor()
    expect(await url.getAttribute("aria-invalid")).not.toBe("true")
    await page.getByRole("button", { name: "Create endpoint" }).click()
    await page.getByRole("alert").filter({ hasText: "private or reserved address" }).waitFor()
    await url.fill("https://example.com/hooks")
    await page.getByText("Can be delivered to").waitFor()
    expect(await page.getByRole("alert").count()).toBe(0)
    await url.fill("example.com/hooks")
    await page.getByText("not a complete URL").waitFor()
    expect(await url.getAttribute("aria-invalid")).toBe("true")
  })

  it("§11 a delivery of a disabled endpoint is not announced as imminent", async () => {
    const page = await visit(`/endpoints/${disabledId}`)
    await page.getByRole("cell", { name: "when enabled" }).waitFor()
    await page.goto(at("/deliveries"))
    await page.getByRole("cell", { name: "when enabled" }).waitFor()
    await page.goto(at(`/deliveries?endpointId=${disabledId}`))
    await page.getByRole("link", { name: LONG }).click()
    await page.getByText("once its endpoint is enabled").waitFor()
    expect(await page.getByText("any moment").count()).toBe(0)
  })

  it("§3.5 a delivery that waits for a probe says so, with its own policy's numbers", async () => {
    const made = await on.stage.api("POST", `/workspaces/${slug}/webhooks`, {
      url: on.receiver.url,
      eventTypes: ["probe.me"],
      policy: {
        retries: { kind: "waits", seconds: [60, 600] },
        disableAfter: { kind: "failing_for", seconds: 432_000 }
      }
    })
    await on.stage.sql("update posthorn.endpoints set consecutive_failures = 7 where id = $1", [made.id])
    await on.stage.api("POST", `/workspaces/${slug}/events`, { eventType: "probe.me", payload: 1 })
    const page = await visit(`/endpoints/${made.id}`)
    await page.getByText("with a pause of 50 ms before each; a test event does not wait").waitFor()
    await page.getByText("after failing for 5 days it is disabled").waitFor()
    await page.getByText("7 in a row").waitFor()
    await page.getByRole("cell", { name: "0 of 3" }).waitFor()
    await page.getByRole("cell", { name: "by a probe" }).waitFor()
    await page.getByRole("link", { name: "probe.me" }).click()
    await page.getByText("Attempt 1 of 3").waitFor()
    await page.getByText("when its turn comes: its endpoint fails").waitFor()
    await page.goto(at("/overview"))
    await page.getByText("Failed 7 times in a row; after failing for 5 days it is disabled.").waitFor()
    await on.stage.api("DELETE", `/workspaces/${slug}/webhooks/${made.id}`)
  })

  it("§3.5 sets a rate, and says when what waits for it will have been sent", async () => {
    const made = await on.stage.api("POST", `/workspaces/${slug}/webhooks`, {
      url: on.receiver.url,
      eventTypes: ["rate.me"]
    })
    const page = await visit(`/endpoints/${made.id}?tab=policy`)
    await page.getByRole("button", { name: "As the workspace: no limit" }).click()
    await page.getByRole("option", { name: /^At most so many/ }).click()
    await page.getByLabel("Attempts", { exact: true }).fill("2")
    await page.getByLabel("In so many seconds").fill("600")
    await page.getByRole("button", { name: "Save policy" }).click()
    await page.getByText("Saved").waitFor()
    await on.stage.sql(
      `insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id)
       select workspace_id, id, clock_timestamp() - interval '5 minutes', n::text
       from posthorn.endpoints, generate_series(1, 2) as n where id = $1`,
      [made.id]
    )
    for (let n = 0; n < 4; n++)
      await on.stage.api("POST", `/workspaces/${slug}/events`, { eventType: "rate.me", payload: n })

    await page.goto(at(`/endpoints/${made.id}`))
    await page.getByText("4 deliveries wait for the endpoint's rate of 2 in 600 s").waitFor()
    expect(await page.locator("main time[datetime]").count()).toBeGreaterThan(0)
    await page.getByRole("link", { name: "rate.me" }).first().click()
    await page.getByText("its endpoint gets at most 2 attempts in 10 min").waitFor()
    await on.stage.api("DELETE", `/workspaces/${slug}/webhooks/${made.id}`)
  })

  it("§11 signing in leads to the requested page", async () => {
    const { token } = await on.stage.api("POST", `/workspaces/${slug}/api-tokens`, {
      name: "T",
      scopes: ["read"]
    })
    const { page } = await on.open()
    await page.goto(at("/deliveries?status=failed"))
    const field = page.getByLabel("API token")
    await field.waitFor()
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true)
    await page.getByText(`posthorn console-link ${slug}`).waitFor()
    await field.fill(` Bearer ${token}\n`)
    await page.keyboard.press("Enter")
    await page.waitForURL("**/deliveries?status=failed")
  })

  it("§11 tells somebody who is signed in elsewhere that this is another workspace", async () => {
    const page = await visit("/overview")
    await page.goto(`${on.stage.url}/console/w/other/overview`)
    await page.getByText("You are signed in to First, not to other").waitFor()
    await page.getByRole("link", { name: "Go to First" }).click()
    await page.waitForURL(`**/w/${slug}/overview`)
  })

  it("§11 names this machine's modifier key", async () => {
    const page = await visit("/overview")
    const apple = await page.evaluate(() => /Mac|iP/.test(navigator.platform))
    await page
      .getByRole("button", { name: "Go to" })
      .getByText(apple ? "⌘K" : "Ctrl K")
      .waitFor()
  })

  it("§11 a long event type hides no column, and an impossible filter says why", async () => {
    const page = await visit("/deliveries")
    const table = page.getByRole("table", { name: "Deliveries" })
    expect(
      await table.evaluate((each) => each.parentElement!.scrollWidth - each.parentElement!.clientWidth)
    ).toBeLessThanOrEqual(0)
    await page.getByRole("searchbox", { name: "Event type" }).fill("invoice.*")
    await page.keyboard.press("Enter")
    await page.getByText("Write the whole type").waitFor()
  })

  it("§11 a notification of a disabled endpoint leads to it", async () => {
    const page = await visit("/notifications")
    const told = page.getByText("was disabled after 20 failures in a row")
    await expect.poll(() => told.innerText()).toMatch(/^Endpoint 127\.0\.0\.1.* enable the endpoint\.$/)
    await page.getByRole("link", { name: "Recover" }).click()
    await page.waitForURL(`**/endpoints/${disabledId}/recover`)
  })

  it("§11 shows complete commands on the page for copying them", async () => {
    const page = await visit("/connect", { viewport: { width: 390, height: 844 } })
    await page.getByRole("heading", { name: "Command line" }).waitFor()
    const hidden = await page
      .getByRole("region")
      .evaluateAll(
        (regions) =>
          regions.filter(
            ({ clientHeight, clientWidth, scrollHeight, scrollWidth }) =>
              scrollHeight > clientHeight + 1 || scrollWidth > clientWidth + 1
          ).length
      )
    expect(hidden).toBe(0)
  })

  it("§11 says in words which fields of a policy are wrong, and saves none of them", async () => {
    const page = await visit(`/endpoints/${endpointId}?tab=policy`)
    await page.getByLabel("Seconds to answer").fill("61")
    await page.getByText("Write a whole number from 1 to 60.").waitFor()
    expect(await page.getByRole("button", { name: "Save policy" }).isDisabled()).toBe(true)
    await page.getByLabel("Seconds to answer").fill("60")
    expect(await page.getByRole("button", { name: "Save policy" }).isDisabled()).toBe(false)
  })

  it("§11 shows the tab that is open, on a narrow screen too, and navigation where there is no page", async () => {
    const page = await visit(`/endpoints/${endpointId}?tab=try`, { viewport: { width: 390, height: 844 } })
    const box = await page.getByRole("link", { name: "Try it" }).boundingBox()
    expect(box!.x + box!.width).toBeLessThanOrEqual(390)
    await page.setViewportSize({ width: 1_280, height: 900 })
    await page.goto(at("/no-such-page"))
    await page.getByText("There is no such page").waitFor()
    expect(await page.getByRole("navigation", { name: "Main" }).count()).toBe(1)
  })

  it("§11 replays selected deliveries together", async () => {
    await on.stage.sql(
      `update posthorn.deliveries set status = 'dead_lettered' where endpoint_id = $1 and replayed_from is null`,
      [endpointId]
    )
    const page = await visit(`/deliveries?status=dead_lettered&endpointId=${endpointId}`)
    for (const n of [0, 1])
      await page
        .getByRole("checkbox", { name: /^Select / })
        .nth(n)
        .check({ force: true })
    await page.getByRole("button", { name: "Replay 2" }).click()
    // One after another: it says "Replay 1" in between.
    await page.getByRole("button", { name: /^Replay \d/ }).waitFor({ state: "detached" })
    await page.goto(at(`/deliveries?status=pending&endpointId=${endpointId}`))
    await expect.poll(() => page.getByText("replay", { exact: true }).count()).toBe(2)
  })

  it("§11 a page opened while the server is unreachable appears when it is back", async () => {
    const page = await visit("/overview")
    await on.stage.stop("serve")
    await page.getByRole("link", { name: "Audit log" }).click()
    await page.getByText("The server does not answer").waitFor()
    expect(await page.getByRole("navigation", { name: "Main" }).count()).toBe(1)
    await on.stage.start("serve")
    await page.getByRole("heading", { name: "Audit log" }).waitFor()
  }, 90_000)

  it("§4.6 a diagnosis says what to do in whole sentences", async () => {
    const page = await visit(`/endpoints/${disabledId}?tab=diagnosis`)
    await page.getByText("Enable it once the cause is gone").waitFor()
  })
})
