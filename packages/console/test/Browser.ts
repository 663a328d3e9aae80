/**
 * Chromium for tests. It notes what must never happen: a violation of the policy, an error in the console, an exception, a
 * request to another origin, and a request that is neither a file, an operation, nor the session.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { entries } from "@posthorn/api-contract/Contract"
import type { Browser, BrowserContext, BrowserContextOptions, Frame, Page } from "playwright-core"
import type { Stage } from "./Stage.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

const operations = entries.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^(?:/console/api)?${path.replace(/:\w+/g, "[^/]+")}$`)
}))

const isKnown = (method: string, pathname: string) =>
  pathname === "/console/session" ||
  pathname === "/console/link" ||
  (method === "GET" && !pathname.startsWith("/console/api/")) ||
  operations.some((operation) => operation.method === method && operation.pattern.test(pathname))

/** Messages of Chromium itself when a server is unreachable, or a test provokes a refusal. */
const EXPECTED = /Failed to load resource|^Framing .* violates .* "frame-ancestors /

export interface Watched {
  readonly context: BrowserContext
  readonly page: Page
  /** Everything noted that must never happen. */
  readonly faults: ReadonlyArray<string>
}

/** `host`: the origin of a page that embeds the console. */
export const watch = async (context: BrowserContext, stage: Stage, host?: string): Promise<Watched> => {
  const faults: Array<string> = []
  context.on("page", (page) => {
    page.setDefaultTimeout(40_000)
    page.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warning") return
      if (!EXPECTED.test(message.text())) faults.push(`console: ${message.text()}`)
    })
    page.on("pageerror", (error) => faults.push(`exception: ${error.message}`))
  })
  context.on("request", (request) => {
    const url = new URL(request.url())
    if (url.origin === host) return
    if (url.origin !== stage.url) faults.push(`foreign: ${request.url()}`)
    else if (!isKnown(request.method(), url.pathname))
      faults.push(`unknown: ${request.method()} ${url.pathname}`)
  })
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) =>
      // `faults` above listens to it.
      // biome-ignore lint/suspicious/noConsole: the only way out of the page
      console.error(`policy: ${violatedDirective} ${blockedURI} ${sample}`)
    )
  })
  return { context, page: await context.newPage(), faults }
}

export interface BrowserOptions extends BrowserContextOptions {
  readonly host?: string
}

const openBrowser = async (browser: Browser, stage: Stage, { host, ...options }: BrowserOptions = {}) =>
  watch(
    await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options }),
    stage,
    host
  )

/** The browsers of one test. */
export const openedBrowsers = () => {
  const opened: Array<Watched> = []
  return {
    open: async (...given: Parameters<typeof openBrowser>) => {
      const watched = await openBrowser(...given)
      opened.push(watched)
      return watched
    },
    /** Closes them; gives everything noted in them that must never happen. */
    close: async (): Promise<ReadonlyArray<string>> => {
      const closed = opened.splice(0)
      for (const { context } of closed) await context.close()
      return closed.flatMap(({ faults }) => faults)
    }
  }
}

/** Signed in by a link. */
export const enter = async (page: Page, stage: Stage, slug: string, grant: unknown = {}) => {
  await page.goto(await stage.link(slug, grant))
  await page.getByRole("button", { name: "Sign in with this link" }).click()
  await page.waitForURL(`**/console/w/${slug}/overview`)
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
}

/** Waits until nothing loads any more. */
export const settled = async (page: Frame | Page) => {
  await page.getByRole("heading", { level: 1 }).first().waitFor()
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null)
}

/** The sum of the layout shifts since the page was loaded that nobody's input caused. */
export const layoutShift = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries() as unknown as ReadonlyArray<LayoutShift>)
            if (!entry.hadRecentInput) sum += entry.value
        }).observe({ type: "layout-shift", buffered: true })
        // Buffered entries are given before the next frame.
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)))
      })
  )

interface LayoutShift {
  readonly value: number
  readonly hadRecentInput: boolean
}

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

/** The findings of axe, by WCAG 2.2 AA and its own best practices. Needs a context with `bypassCSP`. */
export const violations = async (page: Frame | Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run: () => Promise<{ violations: ReadonlyArray<Violation> }> }
    }
    return (await axe.run()).violations
  })
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, html }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`)
  )
}
