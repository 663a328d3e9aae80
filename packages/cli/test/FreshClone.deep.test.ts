/**
 * A newcomer's clone: `npm start` installs what it needs, and its command brings deliveries to a receiver on another port.
 * The clone contains what is committed; packages come from pnpm's store if they are there.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { verify } from "@posthorn/signature"
import { afterAll, beforeAll, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "posthorn-clone-"))
const clone = join(folder, "posthorn")
const started: Array<ChildProcess> = []

const fresh = { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: "1" }

/** In a process group of its own, so that Ctrl-C reaches its children, as in a terminal. */
const start = (command: string, words: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const child = spawn(command, [...words], { cwd: clone, env: { ...fresh, ...env }, detached: true })
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  started.push(child)
  let said = ""
  child.stdout.on("data", (chunk) => (said += chunk))
  child.stderr.on("data", (chunk) => (said += chunk))
  return {
    /** Its whole output by the time it prints this. */
    saying: (what: RegExp) =>
      new Promise<RegExpExecArray>((resolve, reject) => {
        const look = () => {
          const found = what.exec(said)
          if (found !== null) resolve(found)
        }
        child.stdout.on("data", look)
        child.stderr.on("data", look)
        child.once("close", () => reject(new Error(`it ended without saying ${what}: ${said}`)))
        look()
      }),
    ctrlC: () => {
      process.kill(-child.pid!, "SIGINT")
      return ended
    }
  }
}

interface Got {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const receiver = async () => {
  const got: Array<Got> = []
  const server = createServer(async (request, response) => {
    got.push({ headers: request.headers, body: (await buffer(request)).toString() })
    response.writeHead(201).end()
  }).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address() as { readonly port: number }
  return { got, url: `http://127.0.0.1:${port}/webhooks`, close: () => void server.close() }
}

beforeAll(() => promisify(execFile)("git", ["clone", "--quiet", "--local", root, clone]))

afterAll(() => {
  for (const child of started)
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, "SIGKILL")
  rmSync(folder, { recursive: true, force: true })
})

it("§3.4 posthorn listen brings deliveries from npm start in a fresh clone to a receiver on another port", async () => {
  const target = await receiver()
  const installed = existsSync(join(clone, "node_modules"))
  const dev = start("npm", ["start", "--silent"], { PORT: "0", DATA_DIR: join(folder, "data") })
  const [, url, token] = await dev.saying(/export POSTHORN_URL=(\S+) POSTHORN_TOKEN=(\S+)[\s\S]*Ctrl-C stops/)
  const env = { POSTHORN_URL: url!, POSTHORN_TOKEN: token! }
  const posthorn = (...words: ReadonlyArray<string>) => start("node", ["build/posthorn.mjs", ...words], env)

  const listening = posthorn("listen", target.url)
  const [, secret] = await listening.saying(/verify with: (whsec_\S+)/)
  const [, sent] = await posthorn("send", "invoice.paid", '{"total": 1.10}', "--json").saying(
    /"deliveryIds":(\[.*?\])/
  )
  await listening.saying(/201 +invoice\.paid/)
  await listening.ctrlC()
  const [left] = await posthorn("endpoints", "list", "--json").saying(/\{.*\}/)
  target.close()
  await dev.ctrlC()

  const [first] = target.got
  expect(installed).toBe(false)
  expect(target.got).toHaveLength(1)
  const { id } = verify({ secrets: [secret!], headers: first!.headers, body: first!.body })
  expect(JSON.parse(sent!)).toContain(id)
  expect(first!.body).toContain('"payload":{"total": 1.10}')
  expect(left).not.toContain(target.url)
}, 240_000)
