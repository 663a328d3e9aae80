/**
 * Tests of the console as people use it: Chromium, the real server, PostgreSQL, a local receiver, and a worker where a test
 * starts one. Without a Chromium they are skipped with a message; in CI they fail. After each test nothing may have happened
 * that must never happen (`Browser.ts`).
 */
import type {} from "@posthorn/testkit/GlobalSetup"
import { type Browser, chromium } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, inject } from "vitest"
import { type BrowserOptions, openedBrowsers, type Watched } from "./Browser.ts"
import { build, chromiumPath, type Stage, startReceiver, startStage } from "./Stage.ts"

/** Its members are set once the first `beforeAll` has run. */
export interface InChromium {
  readonly stage: Stage
  readonly receiver: Awaited<ReturnType<typeof startReceiver>>
  /** A new browser, closed after the test. */
  readonly open: (options?: BrowserOptions) => Promise<Watched>
}

export const inChromium = (name: string, tests: (on: InChromium) => void) => {
  const executablePath = chromiumPath()
  if (executablePath === undefined) {
    if (process.env.CI) throw new Error("The console's tests need a Chromium: apt-get install chromium")
    process.stderr.write(
      "No Chromium here, so the console's browser tests are skipped: install one to run them (apt-get install chromium).\n"
    )
  }
  describe.skipIf(executablePath === undefined)(name, () => {
    let browser: Browser
    const opened = openedBrowsers()
    const on: { -readonly [member in keyof InChromium]?: InChromium[member] } = {}

    beforeAll(async () => {
      await build()
      const stage = await startStage(inject("cluster"))
      on.stage = stage
      on.receiver = await startReceiver()
      browser = await chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox"] })
      on.open = (options) => opened.open(browser, stage, options)
    }, 180_000)

    afterAll(async () => {
      await browser?.close()
      on.receiver?.close()
      await on.stage?.close()
    })

    afterEach(async () => {
      if (on.receiver !== undefined) on.receiver.answer.status = 200
      expect(await opened.close()).toEqual([])
    })

    tests(on as InChromium)
  })
}
