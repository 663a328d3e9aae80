/** docs/first-endpoint.md as a newcomer follows it: its code blocks are pasted into a shell, one after another. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "@posthorn/testkit/FreePort"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "posthorn-first-"))
let dev: ChildProcess

const printed = (child: ChildProcess, enough: RegExp) =>
  new Promise<string>((resolve, reject) => {
    let text = ""
    const more = (chunk: Buffer) => {
      text += chunk
      if (enough.test(text)) resolve(text)
    }
    child.stdout?.on("data", more)
    child.stderr?.on("data", more)
    child.once("close", () => reject(new Error(text)))
  })

const shell = (script: string) =>
  new Promise<string>((resolve) => {
    const bash = spawn("bash", ["-m", "-e", "-u", "-o", "pipefail"], { cwd: folder })
    let text = ""
    bash.stdout.on("data", (chunk) => (text += chunk))
    bash.stderr.on("data", (chunk) => (text += chunk))
    bash.once("close", () => resolve(text))
    bash.stdin.end(script)
  })

beforeAll(async () => {
  dev = spawn(process.execPath, [join(root, "scripts", "start.mjs")], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: "0",
      DATA_DIR: join(folder, "data"),
      NO_COLOR: "1"
    }
  })
})

afterAll(async () => {
  if (dev.exitCode === null) {
    const ended = new Promise((resolve) => dev.once("close", resolve))
    dev.kill("SIGTERM")
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

it("spec §1 a newcomer's first endpoint receives, breaks, is looked into and is replayed, as the guide says", async () => {
  const banner = await printed(dev, /Ctrl-C stops/)
  const line = /^ *(export POSTHORN_URL=\S+ POSTHORN_TOKEN=phk_\w+)$/m.exec(banner)?.[1]
  const guide = readFileSync(join(root, "docs", "first-endpoint.md"), "utf8")
  const blocks = [...guide.matchAll(/^```bash\n([\s\S]*?)^```/gm)].map(([, block]) => block)
  // A second is plenty for a person; a busy machine may need more.
  const port = String(await Effect.runPromise(freePort))

  assert.isDefined(line)
  expect(blocks.length).toBe(8)
  const out = await shell(
    [line, ...blocks, "kill $RECEIVER"]
      .join("\n")
      .replaceAll("3000", port)
      .replaceAll("/tmp/", `${folder}/`)
      .replaceAll("sleep 1", "sleep 4")
  )

  const genuine = [...out.matchAll(/genuine (whd_\w+) (.*)$/gm)]
  expect(
    genuine.map(([, , body]) => JSON.parse(body!).eventType),
    out
  ).toEqual(["invoice.paid", "invoice.voided", "invoice.voided"])
  expect(out).toMatch(/"status":"failed_permanent"/)
  expect(out).toMatch(/"httpStatus":400/)
  expect(out).toContain(`"replayedFrom":"${genuine[1]?.[1]}"`)
}, 90_000)
