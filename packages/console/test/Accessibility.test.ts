/** Every page, in both themes and with and without anything in it: nothing that axe finds, and nothing the policy blocks. */
import type {} from "@posthorn/testkit/GlobalSetup"
import { type Browser, chromium } from "playwright-core"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { enter, openBrowser, settled, violations } from "./Browser.ts"
import { build, chromiumPath, type Stage, startStage } from "./Stage.ts"
import { makeWorld, placesOf, type World } from "./World.ts"

const executablePath = chromiumPath()

describe.skipIf(executablePath === undefined)("the console's pages", () => {
  let stage: Stage
  let browser: Browser
  let world: World

  beforeAll(async () => {
    await build()
    stage = await startStage(inject("cluster"))
    world = await makeWorld(stage, { events: 150 })
    await stage.api("POST", "/workspaces", { slug: "empty", name: "Empty" })
    browser = await chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox"] })
  }, 180_000)

  afterAll(async () => {
    await browser?.close()
    await stage?.close()
  })

  for (const colorScheme of ["light", "dark"] as const)
    it(`decision §9 axe finds nothing on any page, ${colorScheme}`, async () => {
      const { context, faults, page } = await openBrowser(browser, stage, { bypassCSP: true, colorScheme })
      const found: Array<string> = []
      const look = async (name: string) => {
        await settled(page)
        for (const violation of await violations(page)) found.push(`${name}: ${violation}`)
      }
      await page.goto(`${stage.url}/console/sign-in`)
      await look("sign-in")
      await enter(page, stage, world.slug)
      for (const [name, path] of Object.entries(placesOf(world))) {
        await page.goto(`${stage.url}${path}`)
        await look(name)
      }
      await page.keyboard.press("Control+k")
      await page.getByRole("dialog").waitFor()
      await look("palette")
      await enter(page, stage, "empty")
      for (const place of [
        "overview",
        "endpoints",
        "deliveries",
        "events",
        "notifications",
        "audit-log",
        "members",
        "api-tokens"
      ]) {
        await page.goto(`${stage.url}/console/w/empty/${place}`)
        await look(`empty ${place}`)
      }
      await context.close()
      expect(found).toEqual([])
      expect(faults).toEqual([])
    }, 240_000)

  it("decision §9 the policy blocks nothing on any page, and every page fits 320 pixels", async () => {
    const { context, faults, page } = await openBrowser(browser, stage, {
      viewport: { width: 320, height: 640 }
    })
    await enter(page, stage, world.slug)
    const tooWide: Array<string> = []
    for (const [name, path] of Object.entries(placesOf(world))) {
      await page.goto(`${stage.url}${path}`)
      await settled(page)
      if (
        !(await page.evaluate(
          () => document.documentElement.scrollWidth <= document.documentElement.clientWidth
        ))
      )
        tooWide.push(name)
    }
    await context.close()
    expect(tooWide).toEqual([])
    expect(faults).toEqual([])
  }, 120_000)

  it("§4 shows the operator's name, colour and logo, and an error with a way to try again", async () => {
    const { context, faults, page } = await openBrowser(browser, stage)
    await enter(page, stage, world.slug)
    await page.goto(`${stage.url}/console/w/${world.slug}/deliveries/whd_${"0".repeat(29)}`)
    await page.getByText("This could not be loaded").waitFor()
    await page.getByText("no delivery with this id").waitFor()
    await page.getByRole("button", { name: "Try again" }).waitFor()
    await page.goto(`${stage.url}/console/no/such/page`)
    await page.getByText("There is no such page").waitFor()
    await context.close()
    expect(faults).toEqual([])
  })
})
