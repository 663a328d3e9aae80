/** Alerts in the console's settings, through serve and work to the channel that is told. */
import { untilAsked } from "@posthorn/testkit/Until"
import { beforeAll, expect, it } from "vitest"
import { enter, settled, violations } from "./Browser.ts"
import { inChromium } from "./InChromium.ts"

inChromium("alerts in the console", (on) => {
  const slug = "alerts"

  beforeAll(async () => {
    await on.stage.api("POST", "/workspaces", { slug, name: "Acme Inc." })
    await on.stage.start("work")
  }, 180_000)

  for (const colorScheme of ["light", "dark"] as const)
    it(`§3.6 somebody has a channel told, sees that it was, and takes it out again, ${colorScheme}`, async () => {
      const { page } = await on.open({ bypassCSP: true, colorScheme })
      await enter(page, on.stage, slug)
      await page.goto(`${on.stage.url}/console/w/${slug}/settings`)
      await page.getByText("Nobody is told yet.").waitFor()
      await page.getByRole("button", { name: "Add alert" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Address").fill("oncall@example.com")
      await settled(page)
      expect(await violations(page)).toEqual([])
      await dialog.getByRole("button", { name: "Add alert" }).click()
      await dialog.getByText("This installation sends no e-mail").waitFor()
      await dialog.getByText("Slack", { exact: true }).click()
      await dialog.getByLabel("URL of an incoming webhook").fill(`${on.receiver.url}/slack-${colorScheme}`)
      await dialog.getByText("Failing", { exact: true }).click()
      await dialog.getByRole("button", { name: "Add alert" }).click()
      const entry = page.getByRole("row", { name: /Slack [0-9a-f]{16} Disabled, Given up/ })
      await entry.waitFor()

      const { id } = (await on.stage.api("POST", `/workspaces/${slug}/webhooks`, {
        url: on.receiver.url,
        eventTypes: ["*"]
      })) as { id: string }
      await on.stage.api("PATCH", `/workspaces/${slug}/webhooks/${id}`, { enabled: false })
      const [told] = await untilAsked(
        () =>
          on.receiver.seen
            .filter(({ body }) => body.includes("is disabled · Acme Inc."))
            .slice(colorScheme === "dark" ? 1 : 0),
        ({ length }) => length === 1
      )
      expect(told!.body).toContain(`/console/w/${slug}/endpoints/${id}|See what happened>`)
      await page.reload()
      await page
        .getByRole("row", { name: /Sent Disabled Slack/ })
        .first()
        .waitFor()
      await settled(page)
      expect(await violations(page)).toEqual([])
      if (process.env.PICTURES !== undefined)
        for (const width of [390, 1200]) {
          await page.setViewportSize({ width, height: 900 })
          await page.screenshot({
            path: `${process.env.PICTURES}/settings-${colorScheme}-${width}.png`,
            fullPage: true
          })
        }

      await entry.getByRole("button", { name: "Remove" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click()
      await page.getByText("Nobody is told yet.").waitFor()
    }, 120_000)
})
