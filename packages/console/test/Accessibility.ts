/**
 * The console's pages, empty and filled: axe finds nothing, the content security policy blocks nothing, and everything fits
 * into 320 pixels and stands still while it loads. `npm test` checks some pages in one theme; `npm run test:deep` all pages in both.
 */
import { oneIn } from "@posthorn/testkit/Sample"
import type { Page } from "playwright-core"
import { beforeAll, expect, it } from "vitest"
import { enter, layoutShift, settled, violations } from "./Browser.ts"
import { makeWorld, placesOf, type World } from "./FilledWorkspace.ts"
import { inChromium } from "./InChromium.ts"

const hasWideTable = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("main table.stacks")].some(
      (table) => table.offsetWidth > table.parentElement!.clientWidth
    )
  )

/** Content that scrolls within its box, but hangs out of it unseen, makes the page longer. */
const hasEmptyEnd = (page: Page) =>
  page.evaluate(() => {
    const { bottom } = document.querySelector("main")!.getBoundingClientRect()
    return document.documentElement.scrollHeight > Math.max(innerHeight, bottom + scrollY + 100)
  })

/** Google calls 0.1 good. */
const MOST_SHIFT = 0.05

const EMPTY = [
  "overview",
  "endpoints",
  "deliveries",
  "events",
  "event-types",
  "notifications",
  "audit-log",
  "members",
  "api-tokens"
]

export const accessibility = (n: number, themes: ReadonlyArray<"light" | "dark">) =>
  inChromium("the console's pages", (on) => {
    let world: World
    const places = () => oneIn(n, Object.entries(placesOf(world)))

    beforeAll(async () => {
      world = await makeWorld(on.stage, { events: 150 })
      await on.stage.api("POST", "/workspaces", { slug: "empty", name: "Empty" })
    }, 180_000)

    for (const colorScheme of themes)
      it(`§11 axe finds nothing on any page, ${colorScheme}`, async () => {
        const { page } = await on.open({ bypassCSP: true, colorScheme })
        const found: Array<string> = []
        const look = async (name: string) => {
          await settled(page)
          for (const violation of await violations(page)) found.push(`${name}: ${violation}`)
        }
        await page.goto(`${on.stage.url}/console/sign-in`)
        await look("sign-in")
        await enter(page, on.stage, world.slug)
        for (const [name, path] of places()) {
          await page.goto(`${on.stage.url}${path}`)
          await look(name)
        }
        await page.keyboard.press("Control+k")
        await page.getByRole("dialog").waitFor()
        await look("palette")
        await enter(page, on.stage, "empty")
        for (const place of oneIn(n, EMPTY)) {
          await page.goto(`${on.stage.url}/console/w/empty/${place}`)
          await look(`empty ${place}`)
        }
        expect(found).toEqual([])
      }, 240_000)

    for (const width of [320, 1280])
      it(`§11 nothing moves on any page while it loads, and everything is where it is seen, ${width} pixels wide`, async () => {
        const { page } = await on.open({ viewport: { width, height: 800 } })
        await enter(page, on.stage, world.slug)
        const moved: Array<string> = []
        for (const [name, path] of places()) {
          await page.goto(`${on.stage.url}${path}`)
          await settled(page)
          await page.waitForLoadState("networkidle")
          const shift = await layoutShift(page)
          if (shift > MOST_SHIFT) moved.push(`${name}: ${shift.toFixed(3)}`)
          if (await hasWideTable(page)) moved.push(`${name}: a table is wider than its card`)
          if (await hasEmptyEnd(page)) moved.push(`${name}: the page is longer than what it shows`)
        }
        expect(moved).toEqual([])
      }, 120_000)

    it("§11 the policy blocks nothing on any page, and every page fits 320 pixels", async () => {
      const { page } = await on.open({
        viewport: { width: 320, height: 640 }
      })
      await enter(page, on.stage, world.slug)
      const tooWide: Array<string> = []
      for (const [name, path] of places()) {
        await page.goto(`${on.stage.url}${path}`)
        await settled(page)
        if (
          !(await page.evaluate(
            () => document.documentElement.scrollWidth <= document.documentElement.clientWidth
          ))
        )
          tooWide.push(name)
      }
      expect(tooWide).toEqual([])
    }, 120_000)

    it("§4 shows the operator's name, colour and logo, and an error with a way to try again", async () => {
      const { page } = await on.open()
      await enter(page, on.stage, world.slug)
      await page.goto(`${on.stage.url}/console/w/${world.slug}/deliveries/whd_${"0".repeat(29)}`)
      await page.getByText("This could not be loaded").waitFor()
      await page.getByText("no delivery with this id").waitFor()
      await page.getByRole("button", { name: "Try again" }).waitFor()
      await page.goto(`${on.stage.url}/console/no/such/page`)
      await page.getByText("There is no such page").waitFor()
    })
  })
