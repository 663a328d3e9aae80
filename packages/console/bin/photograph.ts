/**
 * `tsx packages/console/bin/photograph.ts [folder] [page…]`: photographs every page of the console in both themes, at 1440 and 390
 * pixels, with a day's data. For people to check before a release.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import * as TestCluster from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import { type Browser, chromium } from "playwright-core"
import { makeWorld, placesOf } from "../test/FilledWorkspace.ts"
import { build, chromiumPath, startStage } from "../test/Stage.ts"

const [folder = "dist/photographs", ...wanted] = process.argv.slice(2)

const TALLEST = 2_000

const sizes = [
  { name: "wide", width: 1440, height: 900 },
  { name: "narrow", width: 390, height: 844 }
]

const photograph = async (
  browser: Browser,
  url: string,
  link: () => Promise<string>,
  places: Readonly<Record<string, string>>
) => {
  for (const { height, name, width } of sizes)
    for (const theme of ["light", "dark"] as const) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        deviceScaleFactor: 1,
        reducedMotion: "reduce"
      })
      const page = await context.newPage()
      await page.goto(`${url}/console/sign-in`)
      await page.getByRole("heading").waitFor()
      const shoot = async (place: string) => {
        const whole = await page.evaluate(() => document.documentElement.scrollHeight)
        await page.setViewportSize({ width, height: Math.min(Math.max(height, whole), TALLEST) })
        await page.screenshot({ path: join(folder, `${place}-${name}-${theme}.png`) })
        await page.setViewportSize({ width, height })
      }
      if (wanted.length === 0 || wanted.includes("sign-in")) await shoot("sign-in")
      await page.goto(await link())
      await page.getByRole("button", { name: "Sign in with this link" }).click()
      await page.waitForURL("**/overview")
      for (const [place, path] of Object.entries(places)) {
        if (wanted.length > 0 && !wanted.includes(place)) continue
        await page.goto(`${url}${path}`)
        await page.getByRole("heading", { level: 1 }).waitFor()
        await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null)
        await page.evaluate(() => document.fonts.ready)
        await page.waitForLoadState("networkidle")
        await shoot(place)
      }
      await context.close()
    }
}

const program = Effect.scoped(
  Effect.gen(function* () {
    const executablePath = chromiumPath()
    if (executablePath === undefined)
      return yield* Effect.dieMessage("No Chromium: install one, such as Debian's (apt-get install chromium)")
    yield* Effect.promise(build)
    const cluster = yield* TestCluster.start
    const stage = yield* Effect.acquireRelease(
      Effect.promise(() => startStage(cluster)),
      ({ close }) => Effect.promise(close)
    )
    const world = yield* Effect.promise(() => makeWorld(stage))
    const browser = yield* Effect.acquireRelease(
      Effect.promise(() => chromium.launch({ executablePath, args: ["--no-sandbox"] })),
      (opened) => Effect.promise(() => opened.close())
    )
    mkdirSync(folder, { recursive: true })
    yield* Effect.promise(() => photograph(browser, stage.url, () => stage.link(world.slug), placesOf(world)))
  })
)

await Effect.runPromise(program)
