/** Commands that call a running Posthorn, as real processes with a real server. */
import { spawn } from "node:child_process"
import { generateSecret, sign } from "@posthorn/signature"
import { ended, runCommand, saying, startCommand } from "@posthorn/testkit/Command"
import { untilAsked } from "@posthorn/testkit/Until"
import { describe, expect, it } from "vitest"
import { asked, call, json, makeEndpoint, posthorn, receiver, runDev } from "./Remote.ts"

runDev()

describe("posthorn send", () => {
  it("§7.1 says in one line what is wrong with the arguments", async () => {
    const lines = await Promise.all([
      posthorn("send", "a.b", "{"),
      posthorn("send", "a.b"),
      posthorn("send", "a.b", "--file", "/nowhere"),
      posthorn("deliveries", "--status", "lost"),
      posthorn("recover", "whe_1", "--since", "soon", "--yes"),
      posthorn("recover", "whe_1", "--since", "1h", "--until", "2h", "--yes"),
      posthorn("endpoints", "lst"),
      posthorn("endpoints", "create", "https://example.com/", "--event-types", "a.b,,c"),
      posthorn("--completions", "tcsh"),
      posthorn("deliveries", "--colour", "red"),
      runCommand(["deliveries"]),
      runCommand(["deliveries"], { ...asked(), POSTHORN_URL: "ftp://a:password@x" }),
      runCommand(["deliveries"], { ...asked(), POSTHORN_URL: "http://127.0.0.1:9" })
    ])

    expect(lines.map(({ code }) => code)).toEqual([...Array(12).fill(2), 1])
    for (const { err, out } of lines) {
      expect(out).toBe("")
      expect(err.trim().split("\n"), err).toHaveLength(1)
      expect(err).not.toMatch(/\u001b|at .*\.mjs/)
    }
    expect(lines.map(({ err }) => err).join("")).toMatch(
      /nothing lies between [\s\S]*use create, delete, disable, enable, list, rotate, show, test or update\n\/eventTypes\/1: [\s\S]*takes bash, zsh or fish\n/
    )
    expect(lines.at(-1)?.err).toContain("cannot be reached at http://127.0.0.1:9")
  })

  it("§7.1 calls no other path than its own, whatever the id", async () => {
    const about = async (id: string) => {
      const answers = await Promise.all([
        posthorn("recover", id, "--since", "1h", "--dry-run"),
        posthorn("attempts", id),
        posthorn("deliveries", "--workspace", id)
      ])
      return answers.map(({ err }) => err)
    }

    const unknown = await about("nobody")

    for (const id of ["../members", "x/../../api-tokens", "a?limit=1#", "%2e%2e"])
      expect(await about(id), id).toEqual(unknown)
  }, 240_000)
})

describe("looking", () => {
  it("§10 prints deliveries, attempts and traces as REST returns them, with options in any position", async () => {
    const target = await receiver(400)
    const endpointId = await makeEndpoint(target.url, "cli.looked")
    const { deliveryIds, id } = await json("send", "cli.looked", "1")
    const failed = () => json("deliveries", "--endpoint", endpointId, "--status", "failed_permanent")
    const listed = await untilAsked(failed, ({ items }) => items.length === 1)
    target.close()

    const attempts = await json("attempts", listed.items[0].id)
    const traced = await posthorn("trace", "--json", id)
    const shown = await posthorn("deliveries", "--endpoint", endpointId)
    const diagnosed = await posthorn("diagnose", endpointId)

    expect(deliveryIds).toContain(listed.items[0].id)
    expect(attempts.items[0]).toMatchObject({ ordinal: 1, httpStatus: 400 })
    expect(JSON.parse(traced.out).items.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining(["event", "delivery", "attempt"])
    )
    expect(shown.out).toMatch(/^ID +STATUS +EVENT TYPE.*\nwhd_\w+ +failed_permanent +cli\.looked/)
    expect(diagnosed.out).toMatch(new RegExp(`^${endpointId} is failing\\.`))
    expect(diagnosed.out).toContain(`posthorn endpoints test ${endpointId}`)
    expect(diagnosed.out).not.toMatch(/webhook_|Webhook|endpointId/)
  })

  it("§10 watches: one line for each new delivery", async () => {
    const target = await receiver()
    const endpointId = await makeEndpoint(target.url, "cli.watched")
    const watching = startCommand(["deliveries", "--watch", "--json", "--endpoint", endpointId], asked())
    let out = ""
    watching.stdout.on("data", (chunk) => (out += chunk))

    const { deliveryIds } = await json("send", "cli.watched", "1")
    await untilAsked(
      () => out.trim().split("\n"),
      (lines) => lines.some((line) => line !== "" && JSON.parse(line).status === "delivered")
    )
    const gone = ended(watching)
    watching.kill("SIGINT")
    await gone
    target.close()

    for (const line of out.trim().split("\n")) expect(deliveryIds).toContain(JSON.parse(line).id)
  })
})

describe("posthorn recover", () => {
  it("§10 counts, starts, follows, and ends with what remains", async () => {
    const target = await receiver(400)
    const endpointId = await makeEndpoint(target.url, "cli.lost")
    for (let n = 0; n < 3; n++) await json("send", "cli.lost", String(n))
    await untilAsked(
      () => target.got.length,
      (n) => n === 3
    )
    await untilAsked(
      () => call("GET", `/webhooks/${endpointId}/deliveries?status=failed_permanent`),
      ({ body }) => body.items.length === 3
    )
    await posthorn("endpoints", "disable", endpointId)
    for (let n = 3; n < 5; n++) await json("send", "cli.lost", String(n))
    target.state.status = 200
    const range = ["--since", "1h", "--include-missed"]

    const alone = await posthorn("recover", endpointId, ...range)
    const { body: none } = await call("GET", "/webhooks/replays")
    const counted = await json("recover", endpointId, ...range, "--dry-run")
    const disabled = await posthorn("recover", ...range, "--yes", endpointId)
    const enabled = await posthorn("endpoints", "enable", endpointId)
    const recovered = await posthorn("recover", endpointId, ...range, "--yes")
    await untilAsked(
      () => target.got.length,
      (n) => n === 8
    )
    const again = await json("recover", endpointId, ...range, "--yes")
    target.close()

    expect([alone.code, alone.out]).toEqual([1, ""])
    expect(alone.err).toContain("nothing was changed: add --yes")
    expect(none.items).toEqual([])
    expect(counted).toEqual({
      matched: 5,
      missed: 2,
      unsent: 0,
      leftOut: { recovered: 0, underWay: 0, tests: 0 }
    })
    expect([disabled.code, disabled.out]).toEqual([1, ""])
    expect(disabled.err).toMatch(/disabled/)
    expect(enabled.err).toContain("It missed 2 events while it was disabled")
    expect(recovered.out).toBe("All 5 were replayed; nothing remains.\n")
    // All is recovered, or under way.
    expect(again).toMatchObject({ state: "done", matched: 0, missed: 0, replayed: 0 })
    expect(
      target.got
        .slice(3, 8)
        .map(({ body }) => JSON.parse(body).payload)
        .sort()
    ).toEqual([0, 1, 2, 3, 4])
  }, 240_000)
})

describe("posthorn listen", () => {
  it("§3.4 copies what an endpoint receives, headers and body to the letter, once each", async () => {
    const [target, copy] = [await receiver(), await receiver(500)]
    const endpointId = await makeEndpoint(target.url, "cli.copied")
    await json("send", "cli.copied", "0")
    await untilAsked(
      () => target.got.length,
      (n) => n === 1
    )
    const listening = startCommand(["listen", copy.url, "--endpoint", endpointId], asked())
    const said = saying(listening)
    await said(/Copying/)
    // What was sent before its first poll is not copied; it polls at once, and then each half second.
    // biome-ignore lint/plugin: its first poll prints nothing
    await new Promise((resolve) => setTimeout(resolve, 3_000))

    await json("send", "cli.copied", '{"n":  1.0}')
    await said(/500 +cli\.copied/)
    const gone = ended(listening)
    listening.kill("SIGINT")
    await gone
    target.close()
    copy.close()

    const [original, copied] = [target.got[1]!, copy.got[0]!]
    expect(copy.got).toHaveLength(1)
    expect(copied.body).toBe(original.body)
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature", "content-type", "x-trace-id"])
      expect(copied.headers[name]).toBe(original.headers[name])
  }, 240_000)
})

describe("posthorn verify", () => {
  const secret = generateSecret()
  const request = (timestamp: number, body: string, signed = body) => {
    const signature = sign({ id: "whd_1", timestamp, body: signed, secrets: [secret] })
    return `webhook-id: whd_1\r\nwebhook-timestamp: ${timestamp}\r\nwebhook-signature: ${signature}\r\n\r\n${body}`
  }
  const said = (input: string) => runCommand(["verify", "--secret", secret], {}, input)

  it("§4.1 distinguishes a genuine request, a changed body, an old one and a missing header", async () => {
    const now = Math.floor(Date.now() / 1000)
    const [genuine, changed, old, oldAndChanged, missing] = await Promise.all([
      said(request(now, '{"a":\n1}\r\n')),
      said(request(now, '{"a":1}', '{"a": 1}')),
      said(request(now - 3600, "{}")),
      said(request(now - 3600, "{}", "{ }")),
      said(request(now, "{}").replace(/webhook-signature.*\r\n/, ""))
    ])

    expect([genuine, changed, old, oldAndChanged, missing].map((each) => each!.code)).toEqual([0, 1, 1, 1, 1])
    expect(genuine!.out).toMatch(/^genuine: whd_1, signed \d+ s ago\n$/)
    expect(changed!.err).toContain("does not fit body and secret")
    expect(old!.err).toContain("The signature is right, but the request was signed 60 min ago")
    expect(oldAndChanged!.err).toContain("does not fit body and secret")
    expect(missing!.err).toContain("webhook-signature header is missing")
  })
})

describe("help", () => {
  it("§10 fits a page, and completion knows every command", async () => {
    const help = (await runCommand(["help"])).out
    const scripts = await Promise.all(
      ["bash", "zsh", "fish"].map((name) => runCommand(["--completions", name]))
    )

    expect(help.trim().split("\n").length).toBeLessThanOrEqual(40)
    for (const line of help.split("\n")) expect(line.length).toBeLessThanOrEqual(120)
    for (const { code, out } of scripts) {
      expect(code).toBe(0)
      for (const name of ["send", "recover", "listen", "endpoints", "serve"]) expect(out).toContain(name)
    }
  })

  it("§10 completes commands, commands within them, and options in bash", async () => {
    const asked = (...words: ReadonlyArray<string>) =>
      `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; COMPREPLY=(); ` +
      `_posthorn_bash_completions posthorn; echo "\${COMPREPLY[*]}"`
    const { out: script } = await runCommand(["--completions", "bash"])

    const bash = spawn("bash", [
      "-c",
      [
        script,
        asked("posthorn", "reco"),
        asked("posthorn", "endpoints", "cr"),
        asked("posthorn", "recover", "--include-m")
      ].join("\n")
    ])
    const { code, err, out } = await ended(bash)

    expect([code, err, out]).toEqual([0, "", "recover\ncreate\n--include-missed\n"])
  })
})
