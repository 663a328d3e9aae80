/** The console in a frame of a platform's page on another site, at its shortest. Embedded.deep.test.ts has all else. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { frameOf, type Host, startHost } from "./Host.ts"
import { inChromium } from "./InChromium.ts"

inChromium("the embedded console", (on) => {
  let host: Host
  beforeAll(async () => {
    await on.stage.api("POST", "/workspaces", { slug: "team", name: "Team" })
    host = await startHost(on.stage, "team")
  }, 180_000)
  afterAll(() => host?.close())

  it("§11.1 signs in by the platform's link, without a cookie, and shows the pages that it gives", async () => {
    const { context, page } = await on.open({ host: host.origin })
    await page.goto(host.origin)
    const frame = await frameOf(page)
    await frame.getByRole("heading", { level: 1, name: "Endpoints" }).waitFor()
    expect(await frame.getByRole("navigation").getByRole("link").allInnerTexts()).toEqual([
      "Endpoints",
      "Deliveries",
      "Event types"
    ])
    expect(frame.url()).toBe(`${on.stage.url}/console/embed?in=${host.origin}`)
    expect(await context.cookies()).toEqual([])
  })
})
