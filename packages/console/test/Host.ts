/** A platform's settings page on an origin of its own: the example of `packages/embed`, with the component as npm installs it. */
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { freePort } from "@posthorn/testkit/FreePort"
import { installPacked } from "@posthorn/testkit/Packed"
import { Effect, Exit, Scope } from "effect"
import type { Frame, Page } from "playwright-core"
import { OPERATOR_TOKEN, type Stage } from "./Stage.ts"

const example = readFileSync(new URL("../../embed/examples/settings.mjs", import.meta.url), "utf8")

export const startHost = async (stage: Stage, slug: string) => {
  const scope = await Effect.runPromise(Scope.make())
  const installed = await Effect.runPromise(Scope.extend(installPacked("embed"), scope))
  // Another site than the console's localhost.
  const origin = `http://127.0.0.1:${await Effect.runPromise(freePort)}`
  installed.write("settings.mjs", example)
  const child = installed.node(["settings.mjs"], {
    POSTHORN_URL: stage.url,
    POSTHORN_TOKEN: OPERATOR_TOKEN,
    POSTHORN_WORKSPACE: slug,
    ORIGIN: origin
  })
  await once(child.stdout!, "data")
  const close = async () => {
    child.kill("SIGKILL")
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  return { origin, close }
}

export type Host = Awaited<ReturnType<typeof startHost>>

/** The console's frame in the page. */
export const frameOf = async (page: Page): Promise<Frame> => {
  const frame = await page.locator("posthorn-console iframe").elementHandle()
  return (await frame!.contentFrame())!
}

/** From now on the page's route gives links that say this, too. */
export const givesLinks = (page: Page, stage: Stage, slug: string, grant: object) =>
  page.route("**/webhooks-link", async (route) =>
    route.fulfill({ status: 201, json: { url: await stage.link(slug, grant) } })
  )
