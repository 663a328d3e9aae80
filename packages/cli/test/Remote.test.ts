/** The commands that ask a running Posthorn, as real processes against a real one. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { generateSecret, sign, verify } from "@posthorn/signature"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const main = join(root, "build", "posthorn.mjs")
const folder = mkdtempSync(join(tmpdir(), "posthorn-remote-"))

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

let dev: ChildProcess
let url = ""
let token = ""

const start = (words: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  spawn(process.execPath, [main, ...words], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: "1", ...env }
  })

const ended = (child: ChildProcess, input = ""): Promise<Ended> => {
  child.stdin?.end(input)
  return new Promise((resolve) => {
    let [out, err] = ["", ""]
    child.stdout?.on("data", (chunk) => (out += chunk))
    child.stderr?.on("data", (chunk) => (err += chunk))
    child.once("close", (code) => resolve({ code, out, err }))
  })
}

const asked = () => ({ POSTHORN_URL: url, POSTHORN_TOKEN: token })

const posthorn = (...words: ReadonlyArray<string>) => ended(start(words, asked()))

const json = async (...words: ReadonlyArray<string>) => {
  const { err, out } = await posthorn(...words, "--json")
  return out === "" ? { refused: err } : JSON.parse(out)
}

const call = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${url}/workspaces/acme${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { text, body: text === "" ? {} : JSON.parse(text) }
}

const until = async <A>(question: () => A | Promise<A>, right: (answer: A) => boolean): Promise<A> => {
  for (;;) {
    const answer = await question()
    if (right(answer)) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

interface Got {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A receiver that answers with the status it has just now. */
const receiver = async (status = 200) => {
  const got: Array<Got> = []
  const state = { status }
  const server = createServer(async (request, response) => {
    got.push({ headers: request.headers, body: (await buffer(request)).toString() })
    response.writeHead(state.status).end()
  }).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address() as { readonly port: number }
  return { got, state, url: `http://127.0.0.1:${port}/in`, close: () => void server.close() }
}

const makeEndpoint = async (address: string, eventTypes: string) =>
  (await posthorn("endpoints", "create", address, "--event-types", eventTypes)).out.trim()

beforeAll(async () => {
  const { bundle } = (await import(join(root, "scripts", "bundle.mjs"))) as { bundle: () => Promise<void> }
  await bundle()
  dev = start(["dev"], { PORT: "0", DATA_DIR: join(folder, "data"), DELIVERY_RETRY_DELAY: "50 millis" })
  let said = ""
  dev.stdout?.on("data", (chunk) => (said += chunk))
  dev.stderr?.on("data", (chunk) => (said += chunk))
  await until(
    () => said,
    (text) => text.includes("Ctrl-C stops") || dev.exitCode !== null
  )
  const [, base, key] = /export POSTHORN_URL=(\S+) POSTHORN_TOKEN=(\S+)/.exec(said) ?? []
  url = base ?? said
  token = key ?? ""
}, 240_000)

afterAll(async () => {
  const gone = ended(dev)
  dev.kill("SIGTERM")
  await gone
  rmSync(folder, { recursive: true, force: true })
}, 240_000)

describe("posthorn send", () => {
  it("decision §2 publishes to the last digit, from an argument, a file and standard input", async () => {
    const payload = '{"b": 1200.50, "a": 12345678901234567890}'
    writeFileSync(join(folder, "payload.json"), `${payload}\n`)

    const sent = [
      await json("send", "cli.sent", payload),
      await json("send", "--file", join(folder, "payload.json"), "cli.sent"),
      JSON.parse((await ended(start(["send", "cli.sent", "-", "--json"], asked()), payload)).out)
    ]

    for (const { id } of sent)
      expect((await call("GET", `/events/${id}`)).text).toContain(`"payload":${payload}`)
  })

  it("decision §5 tells a refusal in the answer's own words, and nothing else", async () => {
    const { body } = await call("POST", "/events", { eventType: "webhook.mine", payload: 1 })

    const refused = await posthorn("send", "webhook.mine", "1", "--json")

    expect(refused).toEqual({ code: 1, out: "", err: `${body.detail}\n` })
  })

  it("decision §5 says in one line what is wrong with how it was asked", async () => {
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
      ended(start(["deliveries"])),
      ended(start(["deliveries"], { ...asked(), POSTHORN_URL: "ftp://x" })),
      ended(start(["deliveries"], { ...asked(), POSTHORN_URL: "http://127.0.0.1:9" }))
    ])

    expect(lines.map(({ code }) => code)).toEqual([...Array(12).fill(2), 1])
    for (const { err, out } of lines) {
      expect(out).toBe("")
      expect(err.trim().split("\n"), err).toHaveLength(1)
      expect(err).not.toMatch(/\u001b|at .*\.mjs/)
    }
    expect(lines.map(({ err }) => err).join("")).toMatch(
      /nothing lies between [\s\S]*use list, create, enable, disable or rotate\n\/eventTypes\/1: [\s\S]*takes bash, zsh or fish\n/
    )
    expect(lines.at(-1)?.err).toContain("cannot be reached at http://127.0.0.1:9")
  })

  it("decision §5 asks about no other path than its own, whatever the id", async () => {
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
  it("decision §4 lists deliveries, attempts and traces as REST answers them, options anywhere", async () => {
    const target = await receiver(400)
    const endpointId = await makeEndpoint(target.url, "cli.looked")
    const { deliveryIds, id } = await json("send", "cli.looked", "1")
    const failed = () => json("deliveries", "--endpoint", endpointId, "--status", "failed_permanent")
    const listed = await until(failed, ({ items }) => items.length === 1)
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
  })

  it("decision §4 watches: a line for each new delivery", async () => {
    const target = await receiver()
    const endpointId = await makeEndpoint(target.url, "cli.watched")
    const watching = start(["deliveries", "--watch", "--json", "--endpoint", endpointId], asked())
    let out = ""
    watching.stdout.on("data", (chunk) => (out += chunk))

    const { deliveryIds } = await json("send", "cli.watched", "1")
    await until(
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
  it("decision §10 counts, starts, follows, and ends with what remains", async () => {
    const target = await receiver(400)
    const endpointId = await makeEndpoint(target.url, "cli.lost")
    for (let n = 0; n < 3; n++) await json("send", "cli.lost", String(n))
    await until(
      () => target.got.length,
      (n) => n === 3
    )
    await until(
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
    await until(
      () => target.got.length,
      (n) => n === 8
    )
    const again = await json("recover", endpointId, ...range, "--yes")
    target.close()

    expect([alone.code, alone.out]).toEqual([1, ""])
    expect(alone.err).toContain("nothing was changed: add --yes")
    expect(none.items).toEqual([])
    expect(counted).toEqual({ matched: 5, missed: 2 })
    expect([disabled.code, disabled.out]).toEqual([1, ""])
    expect(disabled.err).toMatch(/disabled/)
    expect(enabled.err).toContain("It missed 2 events while it was disabled")
    expect(recovered.out).toBe("All 5 were replayed; nothing remains.\n")
    expect(again).toMatchObject({ state: "done", matched: 3, missed: 0, replayed: 3 })
    expect(
      target.got
        .slice(3, 8)
        .map(({ body }) => JSON.parse(body).payload)
        .sort()
    ).toEqual([0, 1, 2, 3, 4])
  }, 240_000)
})

describe("posthorn listen", () => {
  it("decision §7 has everything sent here by a temporary endpoint, and removes it on Ctrl-C", async () => {
    const target = await receiver()
    const listening = start(["listen", target.url], asked())
    let said = ""
    listening.stdout.on("data", (chunk) => (said += chunk))
    listening.stderr.on("data", (chunk) => (said += chunk))
    const [, secret] = await until(
      () => /verify with: (whsec_\S+)/.exec(said) ?? [],
      (found) => found.length > 0
    )

    await json("send", "cli.heard", '{"total": 1.10}')
    await until(
      () => target.got.length,
      (n) => n >= 1
    )
    await until(
      () => said,
      (text) => /200 +cli\.heard/.test(text)
    )
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

  it("decision §7 copies what an endpoint is sent, headers and body to the letter, once each", async () => {
    const [target, copy] = [await receiver(), await receiver(500)]
    const endpointId = await makeEndpoint(target.url, "cli.copied")
    await json("send", "cli.copied", "0")
    await until(
      () => target.got.length,
      (n) => n === 1
    )
    const listening = start(["listen", copy.url, "--endpoint", endpointId], asked())
    let said = ""
    listening.stdout.on("data", (chunk) => (said += chunk))
    listening.stderr.on("data", (chunk) => (said += chunk))
    await until(
      () => said,
      (text) => text.includes("Copying")
    )
    // What was sent before it looked for the first time is not copied; it looks at once, and then each half second.
    await new Promise((resolve) => setTimeout(resolve, 3_000))

    await json("send", "cli.copied", '{"n":  1.0}')
    await until(
      () => said,
      (text) => /500 +cli\.copied/.test(text)
    )
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
  const said = (input: string) => ended(start(["verify", "--secret", secret]), input)

  it("§4.1 tells a genuine request, a changed body, an old one and a missing header apart", async () => {
    const now = Math.floor(Date.now() / 1000)
    const [genuine, changed, old, missing] = await Promise.all([
      said(request(now, '{"a":\n1}\r\n')),
      said(request(now, '{"a":1}', '{"a": 1}')),
      said(request(now - 3600, "{}")),
      said(request(now, "{}").replace(/webhook-signature.*\r\n/, ""))
    ])

    expect([genuine!.code, changed!.code, old!.code, missing!.code]).toEqual([0, 1, 1, 1])
    expect(genuine!.out).toMatch(/^genuine: whd_1, signed \d+ s ago\n$/)
    expect(changed!.err).toContain("does not fit body and secret")
    expect(old!.err).toContain("too old")
    expect(missing!.err).toContain("webhook-signature header is missing")
  })
})

describe("help", () => {
  it("decision §1 fits a page, and completion knows every command", async () => {
    const help = (await ended(start(["help"]))).out
    const scripts = await Promise.all(
      ["bash", "zsh", "fish"].map((name) => ended(start(["--completions", name])))
    )

    expect(help.trim().split("\n").length).toBeLessThanOrEqual(40)
    for (const line of help.split("\n")) expect(line.length).toBeLessThanOrEqual(120)
    for (const { code, out } of scripts) {
      expect(code).toBe(0)
      for (const name of ["send", "recover", "listen", "endpoints", "serve"]) expect(out).toContain(name)
    }
  })

  it("decision §1 completes commands, commands within them, and options in bash", async () => {
    const asked = (...words: ReadonlyArray<string>) =>
      `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; COMPREPLY=(); ` +
      `_posthorn_bash_completions posthorn; echo "\${COMPREPLY[*]}"`
    const { out: script } = await ended(start(["--completions", "bash"]))

    const bash = spawn("bash", [
      "-c",
      [
        script,
        asked("posthorn", "reco"),
        asked("posthorn", "endpoints", "cr"),
        asked("posthorn", "recover", "--in")
      ].join("\n")
    ])
    const { code, err, out } = await ended(bash)

    expect([code, err, out]).toEqual([0, "", "recover\ncreate\n--include-missed\n"])
  })
})
