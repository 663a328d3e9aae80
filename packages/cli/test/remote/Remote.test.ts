/** Commands that call a running Posthorn, as real processes with a real server. Remote.deep.test.ts has more. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { verify } from "@posthorn/signature"
import { ended, runCommand, saying, startCommand } from "@posthorn/testkit/Command"
import { untilAsked } from "@posthorn/testkit/Until"
import { describe, expect, it } from "vitest"
import { asked, asOperator, call, folder, json, posthorn, receiver, runDev } from "./Remote.ts"

runDev()

describe("posthorn send", () => {
  it("§2.7 publishes to the last digit, from an argument, a file and standard input, behind a byte order mark too", async () => {
    const payload = '{"b": 1200.50, "a": 12345678901234567890}'
    writeFileSync(join(folder, "payload.json"), `\uFEFF${payload}\n`)

    const sent = [
      await json("send", "cli.sent", payload),
      await json("send", "--file", join(folder, "payload.json"), "cli.sent"),
      JSON.parse((await runCommand(["send", "cli.sent", "-", "--json"], asked(), `\uFEFF${payload}`)).out)
    ]

    for (const { id } of sent)
      expect((await call("GET", `/events/${id}`)).text).toContain(`"payload":${payload}`)
  })

  it("§7.1 prints a refusal in the answer's own words, and nothing else", async () => {
    const { body } = await call("POST", "/events", { eventType: "webhook.mine", payload: 1 })

    const refused = await posthorn("send", "webhook.mine", "1", "--json")

    expect(refused).toEqual({ code: 1, out: "", err: `${body.detail}\n` })
  })
})

describe("posthorn listen", () => {
  it("§3.4 has everything sent here by a temporary endpoint, and removes it on Ctrl-C", async () => {
    const target = await receiver()
    const listening = startCommand(["listen", target.url], asked())
    const said = saying(listening)
    const [, secret] = await said(/verify with: (whsec_\S+)/)

    await json("send", "cli.heard", '{"total": 1.10}')
    await untilAsked(
      () => target.got.length,
      (n) => n >= 1
    )
    await said(/200 +cli\.heard/)
    const gone = ended(listening)
    listening.kill("SIGINT")
    await gone
    const left = await json("endpoints", "list")
    target.close()

    const [first] = target.got
    expect(target.got).toHaveLength(1)
    expect(verify({ secrets: [secret!], headers: first!.headers, body: first!.body }).id).toMatch(/^whd_/)
    expect(first!.body).toContain('"payload":{"total": 1.10}')
    expect(left.items.map((one: { url: string }) => one.url)).not.toContain(target.url)
  })
})

describe("posthorn listen that was killed", () => {
  it("§10 leaves an endpoint that a later one removes after its expiry", async () => {
    const target = await receiver()
    const killed = startCommand(["listen", target.url], asked())
    await saying(killed)(/verify with: whsec_/)
    killed.kill("SIGKILL")
    const listened = async () => {
      const { items } = await json("endpoints", "list")
      return items.filter(({ metadata }: { metadata: object }) => "posthorn-listen" in metadata)
    }
    const [left] = await listened()
    const inUse = Date.parse(left.metadata["posthorn-listen"]) - Date.now()
    await call("PATCH", `/webhooks/${left.id}`, {
      metadata: { "posthorn-listen": new Date(Date.now() - 1).toISOString() }
    })
    const next = startCommand(["listen", target.url], asked())
    await saying(next)(/verify with: whsec_/)
    const during = await listened()
    const gone = ended(next)
    next.kill("SIGINT")
    await gone
    target.close()

    expect(inUse).toBeGreaterThan(3_600_000)
    expect(during).toHaveLength(1)
    expect(during[0].id).not.toBe(left.id)
    expect(await listened()).toEqual([])
  })
})

describe("posthorn workspace ensure", () => {
  const ensure = (...words: ReadonlyArray<string>) =>
    runCommand(["workspace", "ensure", ...words], asOperator())
  const answer = async (...words: ReadonlyArray<string>) => JSON.parse((await ensure(...words)).out)

  it("§5.1 makes a workspace and a token, and finds both when it is repeated", async () => {
    const made = await answer("shop", "--name", "The shop", "--token", "ci", "--scopes", "read,event:publish")
    const again = await answer("shop", "--token", "ci")
    const alone = await answer("shop")
    const wider = await ensure("shop", "--token", "ci", "--scopes", "admin")

    expect([wider.code, wider.out]).toEqual([1, ""])
    expect(wider.err).toContain("has the scopes read,event:publish")
    expect(made).toEqual({
      workspace: {
        id: expect.stringMatching(/^wsp_/),
        slug: "shop",
        name: "The shop",
        createdAt: expect.any(String),
        limits: { publishPerMinute: null, endpoints: null, waiting: null, bytes: null, tokens: null }
      },
      created: true,
      token: {
        id: expect.stringMatching(/^tok_/),
        name: "ci",
        created: true,
        token: expect.stringMatching(/^phk_/)
      }
    })
    expect(again).toEqual({
      workspace: made.workspace,
      created: false,
      token: { id: made.token.id, name: "ci", created: false, token: null }
    })
    expect(alone).toEqual({ workspace: made.workspace, created: false, token: null })
    const known = await runCommand(["workspace", "ensure", "shop"], {
      ...asked(),
      POSTHORN_TOKEN: made.token.token
    })
    expect([known.code, known.out]).toEqual([1, ""])
  })

  it("§5.1 makes one workspace and one token when two run at once", async () => {
    const [one, other] = await Promise.all([
      answer("twice", "--token", "ci"),
      answer("twice", "--token", "ci")
    ])

    expect([one.created, other.created].sort()).toEqual([false, true])
    expect(other.workspace.id).toBe(one.workspace.id)
    expect(other.token.id).toBe(one.token.id)
    expect([one, other].some(({ token }) => /^phk_/.test(token.token ?? ""))).toBe(true)
  })

  it("§5.1 ends with 2 for an invalid slug or scope, and prints nothing", async () => {
    for (const words of [["No Slug"], ["shop", "--token", "x", "--scopes", "everything"], []]) {
      const { code, err, out } = await ensure(...words)
      expect([code, out]).toEqual([2, ""])
      expect(err).toMatch(/slug|scopes|lower-case/)
    }
  })
})
