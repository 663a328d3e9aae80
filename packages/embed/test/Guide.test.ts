/** docs/embed.md says what the example does, and its calls make links. `console/test` opens the example in Chromium. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { expect, layer } from "@effect/vitest"
import { ended } from "@posthorn/testkit/Packed"
import { Effect } from "effect"
import { BASE_URL, TestServer, testServer } from "../../server/test/TestServer.ts"

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")
const guide = read("docs/embed.md")
const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, text]) => text!)

const isLink = new RegExp(`^${BASE_URL}/console/embed\\?in=https://app\\.example\\.com#code=[\\w-]{32}$`)

layer(testServer(), { excludeTestServices: true })("Webhooks in your settings page", (it) => {
  it.effect("§11.1 shows the example's own lines", () =>
    Effect.sync(() => {
      const example = read("packages/embed/examples/settings.mjs")
      const shown = [...blocks("js"), ...blocks("html")]
      expect(shown).toHaveLength(3)
      for (const text of shown) expect(example).toContain(text)
    })
  )

  it.effect("§11.1 makes links by its calls", () =>
    Effect.gen(function* () {
      const { enter, url } = yield* TestServer
      const ws = yield* enter
      const endpoint = yield* ws.call("POST", "/webhooks", {
        body: { url: "https://example.com/hooks", eventTypes: ["*"] }
      })
      const env = {
        PATH: process.env.PATH,
        POSTHORN_URL: url,
        POSTHORN_WORKSPACE: ws.slug
      }
      const [curl, token] = blocks("sh")
      const [limited] = blocks("json")

      const run = (command: string, token: string) =>
        Effect.map(
          ended(
            execFile("bash", ["-c", command.replace("curl ", "curl --silent ")], {
              env: { ...env, POSTHORN_TOKEN: token }
            })
          ),
          ({ out }) => JSON.parse(out)
        )

      const production = yield* run(token!, ws.token)
      const made = yield* run(curl!, production.token)
      const narrow = yield* ws.call("POST", "/console-links", {
        text: limited!.replaceAll(/whe_\w+/g, endpoint.body.id)
      })

      expect(made.url).toMatch(isLink)
      expect(narrow).toMatchObject({ status: 201, body: { url: expect.stringMatching(isLink) } })
    })
  )
})
