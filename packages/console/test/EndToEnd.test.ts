/** The console's first minutes. EndToEnd.deep.test.ts has all other stories. */
import { expect, it } from "vitest"
import { inChromium } from "./InChromium.ts"

inChromium("the console in Chromium", (on) => {
  it("§11 goes from a link to the first delivered test event, and keeps nothing in the browser", async () => {
    await on.stage.start("work")
    const slug = "team"
    await on.stage.api("POST", "/workspaces", { slug, name: "Team" })
    const { context, page } = await on.open()
    const link = await on.stage.link(slug)
    await page.goto(link)
    await page.getByText("Sign in to Team as ").waitFor()
    // Opening a link does not sign a browser in.
    expect(await context.cookies()).toEqual([])
    await page.getByRole("button", { name: "Sign in with this link" }).click()
    await page.waitForURL("**/overview")
    expect(page.url()).not.toContain("code")
    expect(await page.evaluate(() => document.cookie)).toBe("")

    await page.getByRole("link", { name: "New endpoint" }).click()
    await page.getByLabel("URL", { exact: true }).fill("https://10.0.0.1/hooks")
    await page.getByText("private or reserved address").waitFor()
    await page.getByLabel("URL", { exact: true }).fill(on.receiver.url)
    await page.getByLabel("Description").fill("Ours")
    await page.getByLabel("Event types", { exact: true }).fill("invoice.paid")
    await page.getByLabel("Event types", { exact: true }).press("Enter")
    await page.getByRole("checkbox", { name: "invoice.paid" }).waitFor()
    expect(await page.getByRole("checkbox", { name: "invoice.paid" }).isChecked()).toBe(true)
    expect(await page.getByRole("radio", { name: "All events" }).isChecked()).toBe(false)
    await page.getByRole("button", { name: "Create endpoint" }).click()
    const secret = await page.getByRole("region", { name: "Signing secret" }).innerText()
    expect(secret).toMatch(/^whsec_/)
    await page.getByRole("button", { name: "I have stored it" }).click()
    await page.getByRole("button", { name: "Send test event" }).click()
    await page.getByText("Delivered", { exact: true }).waitFor()
    expect(on.receiver.seen.at(-1)!.body).toContain("message")

    // The link is used up, and neither code nor secret is stored anywhere.
    const other = await on.open()
    await other.page.goto(link)
    await other.page.getByText("This link has been used, or is too old").waitFor()
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, history.state])
    )
    expect(kept).not.toContain(secret)
    expect(await page.content()).not.toContain(secret)
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ path: "/console", httpOnly: true, sameSite: "Strict" })
    expect(on.stage.logs()).not.toContain(new URL(link).hash.slice(6))
  })

  it("§4 shows the reference in a sandbox: under an origin of its own, without a session", async () => {
    const { page } = await on.open()
    await page.goto(`${on.stage.url}/reference#WebhookEndpointDisabled`)
    await page.getByRole("heading", { name: "WebhookEndpointDisabled" }).waitFor()
    expect(await page.evaluate(() => self.origin)).toBe("null")
  })
})
