/** The console in a frame of a platform's page on another site: the packed component and the example of `packages/embed`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium, type Frame, type Page } from "playwright-core"
import { afterAll, beforeAll, expect, it } from "vitest"
import { settled, violations, watch } from "./Browser.ts"
import { makeWorld, placesOf, type World } from "./FilledWorkspace.ts"
import { frameOf, givesLinks, type Host, startHost } from "./Host.ts"
import { inChromium } from "./InChromium.ts"
import { chromiumPath } from "./Stage.ts"

/** What browsers' settings call it, as Chromium's preferences. */
const BLOCKED = {
  "third-party cookies": { cookie_controls_mode: 1, block_third_party_cookies: true },
  "all cookies and storage": { default_content_setting_values: { cookies: 2 } }
}

/** Everything that a frame can leave in a browser. */
const keptIn = (frame: Frame) =>
  frame.evaluate(async () => {
    const lengthOf = (name: "localStorage" | "sessionStorage") => {
      try {
        return globalThis[name].length
      } catch {
        return 0
      }
    }
    const databases = await indexedDB.databases().catch(() => [])
    return [document.cookie, lengthOf("localStorage"), lengthOf("sessionStorage"), databases.length]
  })

const NOTHING = ["", 0, 0, 0]

const goTo = async (frame: Frame, place: string) => {
  await frame.getByRole("navigation").getByRole("link", { name: place, exact: true }).click()
  await frame.getByRole("heading", { level: 1, name: place }).waitFor()
  await settled(frame)
}

const tooWide = (frame: Frame) =>
  frame.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement
    return scrollWidth <= clientWidth ? [] : [`${scrollWidth} pixels in ${clientWidth}`]
  })

inChromium("the embedded console", (on) => {
  const slug = "team"
  let host: Host
  let world: World

  beforeAll(async () => {
    await on.stage.api("POST", `/workspaces`, { slug, name: "Team" })
    world = await makeWorld(on.stage, { events: 150 })
    host = await startHost(on.stage, slug)
  }, 180_000)
  afterAll(() => host?.close())

  const opened = async (page: Page) => {
    await page.goto(host.origin)
    const shown = page.frameLocator("posthorn-console iframe")
    await shown.getByRole("heading", { level: 1 }).waitFor()
    return frameOf(page)
  }

  for (const [what, profile] of Object.entries(BLOCKED))
    it(`§11.1 works in a page of another site while the browser blocks ${what}, and keeps nothing`, async () => {
      const folder = mkdtempSync(join(tmpdir(), "posthorn-profile-"))
      mkdirSync(join(folder, "Default"))
      writeFileSync(join(folder, "Default", "Preferences"), JSON.stringify({ profile }))
      const context = await chromium.launchPersistentContext(folder, {
        executablePath: chromiumPath()!,
        args: ["--no-sandbox"],
        reducedMotion: "reduce"
      })
      try {
        const { faults, page } = await watch(context, on.stage, host.origin)
        const frame = await opened(page)
        // The setting is in force.
        expect(
          await frame.evaluate(() => {
            // biome-ignore lint/suspicious/noDocumentCookie: what the setting is about
            document.cookie = "probe=1; SameSite=None; Secure"
            return document.cookie
          })
        ).toBe("")

        expect(await frame.getByRole("navigation").getByRole("link").allInnerTexts()).toEqual([
          "Endpoints",
          "Deliveries",
          "Event types"
        ])
        await frame.getByRole("link", { name: "New endpoint" }).first().click()
        await frame.getByLabel("URL", { exact: true }).fill(on.receiver.url)
        await frame.getByRole("button", { name: "Create endpoint" }).click()
        await frame.getByText("is registered").waitFor()
        await goTo(frame, "Deliveries")

        expect(frame.url()).toBe(`${on.stage.url}/console/embed?in=${host.origin}`)
        expect(await keptIn(frame)).toEqual(NOTHING)
        expect(await context.cookies()).toEqual([])
        expect(faults).toEqual([])
      } finally {
        await context.close()
        rmSync(folder, { recursive: true, force: true })
      }
    })

  it("§11.1 is as high as its page, and opens dialogs where they are seen", async () => {
    const { page } = await on.open({ host: host.origin })
    await givesLinks(page, on.stage, world.slug, { embedIn: [host.origin], to: "deliveries" })
    const frame = await opened(page)
    await settled(frame)
    const heights = () =>
      frame.evaluate(() => [innerHeight, document.getElementById("root")!.offsetHeight] as const)
    await expect.poll(async () => (await heights())[0]).toBeGreaterThan(1000)
    const [seen, whole] = await heights()
    expect(seen).toBe(whole)

    await frame.locator("tbody tr").last().scrollIntoViewIfNeeded()
    await frame.locator("tbody tr a").last().focus()
    await page.keyboard.press("Control+k")
    const dialog = await frame.getByRole("dialog").boundingBox()
    expect(dialog!.y).toBeGreaterThan(0)
    expect(dialog!.y).toBeLessThan(400)
    await page.keyboard.press("Escape")

    // Another page begins at the top.
    await frame.locator("tbody tr a").last().click()
    await frame.getByRole("heading", { level: 1 }).waitFor()
    await expect
      .poll(async () => (await page.locator("posthorn-console").boundingBox())!.y)
      .toBeGreaterThanOrEqual(0)
  })

  it("§11.1 goes on by a new link when its session has ended, without losing what was typed", async () => {
    const { page } = await on.open({ host: host.origin })
    const frame = await opened(page)
    await page.locator("posthorn-console iframe").evaluate((element) => element.setAttribute("data-same", ""))
    await frame.getByRole("link", { name: "New endpoint" }).first().click()
    await frame.getByLabel("URL", { exact: true }).fill(on.receiver.url)
    await frame.getByLabel("Description").fill("Half written")

    // The route is away when the link is asked for first.
    await page.route("**/webhooks-link", (route) => route.abort())
    await on.stage.sql("delete from posthorn.console_sessions")
    await frame.getByRole("button", { name: "Create endpoint" }).click()
    await frame.getByText("This page has expired").waitFor()
    expect(await frame.getByLabel("Description").inputValue()).toBe("Half written")
    await page.unroute("**/webhooks-link")

    await frame.getByText("This page has expired").waitFor({ state: "detached" })
    expect(await frame.getByLabel("Description").inputValue()).toBe("Half written")
    expect(await page.locator("posthorn-console iframe[data-same]").count()).toBe(1)
    await frame.getByRole("button", { name: "Create endpoint" }).click()
    await frame.getByText("is registered").waitFor()
    // Some of what a page keeps is written as it is left.
    expect(await keptIn(await opened(page))).toEqual(NOTHING)
  })

  it("§11.1 asks for another link when the first is used up, and takes one from its host alone", async () => {
    const { page } = await on.open({ host: host.origin })
    const url = await on.stage.link(slug, { embedIn: [host.origin] })
    const code = new URL(url).hash.slice("#code=".length)
    const body = JSON.stringify({ code, embedIn: [host.origin] })
    const headers = { "content-type": "application/json" }
    const used = await fetch(`${on.stage.url}/console/session`, { method: "POST", headers, body })
    expect([used.status, await used.text()]).toEqual([201, expect.any(String)])
    let links = 0
    await page.route("**/webhooks-link", (route) =>
      links++ === 0 ? route.fulfill({ status: 201, json: { url } }) : route.continue()
    )
    const frame = await opened(page)
    expect(links).toBe(2)
    // Messages that claim to be the host's, and the console's.
    await frame.evaluate(() => postMessage({ posthorn: "link", code: "nonsense" }, "*"))
    await page.evaluate(
      () =>
        new Promise<void>((heard) => {
          addEventListener("message", ({ source }) => (source === window ? heard() : undefined))
          postMessage({ posthorn: "height", height: 5_000 }, "*")
        })
    )
    expect((await page.locator("posthorn-console").boundingBox())!.height).toBeLessThan(5_000)
    await goTo(frame, "Deliveries")
    expect(await frame.getByText("This page has expired").count()).toBe(0)
    expect(links).toBe(2)
  })

  it("§11.1 begins again by a new link when the frame was loaded again, and when another workspace is shown", async () => {
    const { page } = await on.open({ host: host.origin })
    const frame = await opened(page)
    await goTo(frame, "Deliveries")
    await frame.evaluate(() => location.reload())
    await frame.getByRole("heading", { level: 1, name: "Endpoints" }).waitFor()

    const other = await on.stage.link(world.slug, { embedIn: [host.origin], pages: ["overview"] })
    await page.locator("posthorn-console").evaluate((element, src) => element.setAttribute("src", src), other)
    await frame.getByText("of Acme Commerce").waitFor()
    expect(await frame.getByRole("navigation").count()).toBe(0)
  })

  it("§11.1 begins anew, with nothing of the session before, by a link that sees other endpoints", async () => {
    const { page } = await on.open({ host: host.origin })
    const grants = { embedIn: [host.origin], pages: ["endpoints"] }
    const [one, two] = world.endpointIds
    await givesLinks(page, on.stage, world.slug, { ...grants, endpointIds: [one], to: `endpoints/${one}` })
    const frame = await opened(page)
    await settled(frame)
    const text = () => frame.locator("body").innerText()
    expect(await text()).toContain(one)

    const give = (src: string) =>
      page.locator("posthorn-console").evaluate((element, src) => element.setAttribute("src", src), src)
    const other = await on.stage.link(world.slug, { ...grants, endpointIds: [two], to: `endpoints/${two}` })
    await give(other)
    await expect.poll(text).toContain(two)
    expect(await text()).not.toContain(one)

    // A link that was used up ends nothing.
    const isAsked = (ok: boolean) =>
      page.waitForResponse((response) => response.url().endsWith("/console/session") && response.ok() === ok)
    const refused = Promise.all([isAsked(false), isAsked(true)])
    await page.locator("posthorn-console").evaluate((element) => element.removeAttribute("src"))
    await give(other)
    await refused
    await settled(frame)
    expect(await frame.getByText("This page has expired").count()).toBe(0)
    expect(await text()).toContain(two)
  })

  for (const colorScheme of ["light", "dark"] as const)
    it(`§11.1 axe finds nothing on any page, ${colorScheme}, and each fits 320 pixels and a column of 400`, async () => {
      const { page } = await on.open({ host: host.origin, bypassCSP: true })
      const grant = { embedIn: [host.origin], theme: { colorScheme, accent: "#f5d90a", radius: 16 } }
      const found: Array<string> = []
      let frame: Frame
      const look = async (name: string) => {
        for (const fault of [...(await violations(frame)), ...(await tooWide(frame))])
          found.push(`${name}: ${fault}`)
      }
      const { fleet: _, ...places } = placesOf(world)
      for (const [name, path] of Object.entries(places)) {
        await givesLinks(page, on.stage, world.slug, {
          ...grant,
          to: path.slice(`/console/w/${world.slug}/`.length)
        })
        frame = await opened(page)
        await settled(frame)
        for (const width of [400, 320]) {
          await page.addStyleTag({ content: `posthorn-console { width: ${width}px }` })
          await frame.waitForFunction((wanted) => innerWidth === wanted, width)
          await look(`${name}, ${width}`)
        }
        await page.unroute("**/webhooks-link")
      }
      await frame!.getByRole("heading", { level: 1 }).click()
      await page.keyboard.press("Control+k")
      await frame!.getByRole("dialog").waitFor()
      await look("palette")
      expect(found).toEqual([])
      const applied = await frame!.evaluate(() => {
        const { dataset, style } = document.documentElement
        const radius = getComputedStyle(document.querySelector("[role=dialog] input")!).borderRadius
        return [dataset.theme, style.getPropertyValue("--accent"), radius]
      })
      expect(applied).toEqual([colorScheme, "#f5d90a", "16px"])
    }, 240_000)

  it("§11.1 shows no more than a link's pages and endpoints, wherever it stands", async () => {
    const [endpoint] = world.endpointIds
    const grant = { pages: ["deliveries", "endpoints"], endpointIds: [endpoint], to: `endpoints/${endpoint}` }
    const { page } = await on.open()
    await page.goto(await on.stage.link(world.slug, { ...grant, theme: { colorScheme: "dark" } }))
    await page.getByRole("button", { name: "Sign in with this link" }).click()
    await page.waitForURL(`**/endpoints/${endpoint}`)
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark")
    expect(await page.getByRole("navigation", { name: "Main" }).getByRole("link").allInnerTexts()).toEqual([
      "Endpoints",
      "Deliveries"
    ])
    for (const hidden of ["events", "overview", "settings"]) {
      await page.goto(`${on.stage.url}/console/w/${world.slug}/${hidden}`)
      await page.getByText("There is no such page").waitFor()
    }
    await page.goto(`${on.stage.url}/console/w/${world.slug}/`)
    await page.waitForURL(`**/endpoints/${endpoint}`)
    for (const place of ["Endpoints", "Deliveries"]) {
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).click()
      await page.getByRole("heading", { level: 1, name: place }).waitFor()
      await settled(page)
      expect(await page.getByRole("link", { name: "New endpoint" }).count()).toBe(0)
    }
    await page.keyboard.press("Control+k")
    await page.getByRole("menuitem").first().waitFor()
    expect(await page.getByRole("menuitem").allInnerTexts()).toEqual([
      "Endpoints",
      "Deliveries",
      "Light theme",
      "Dark theme",
      "Theme of the system"
    ])
    await page.keyboard.press("Escape")
    await page.locator("tbody tr a").first().click()
    await page.getByRole("heading", { level: 1 }).waitFor()
    await settled(page)
    const addresses = await page
      .locator("main a")
      .evaluateAll((all) => all.map((each) => each.getAttribute("href")))
    expect(addresses.filter((each) => !/\/(deliveries|endpoints)(\/|$|\?)/.test(each ?? ""))).toEqual([])
  })

  it("§11.1 stands in no page of another origin, and in no window of its own; the link stays", async () => {
    const { context, page } = await on.open({ host: host.origin })
    const url = await on.stage.link(slug, { embedIn: ["https://app.example.com"] })
    await givesLinks(page, on.stage, slug, {})
    await page.goto(host.origin)
    for (const address of [url, `${on.stage.url}/console/`]) {
      await page.evaluate((src) => {
        const frame = document.createElement("iframe")
        frame.src = src
        document.body.replaceChildren(frame)
        return new Promise((resolve) => frame.addEventListener("load", resolve))
      }, address)
      const frame = await (await page.locator("iframe").elementHandle())!.contentFrame()
      expect(frame!.url()).toBe("chrome-error://chromewebdata/")
    }

    await page.goto(url)
    await page.getByText("This page belongs in another one").waitFor()
    expect(await context.cookies()).toEqual([])
    expect(
      await on.stage.sql(
        "select 1 from posthorn.console_sessions s join posthorn.workspaces w on w.id = s.workspace_id where w.slug = $1 and s.view ->> 'embedIn' like '%app.example.com%'",
        [slug]
      )
    ).toEqual([])
  })
})
