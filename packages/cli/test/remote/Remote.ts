/** A running Posthorn as a real process, and receivers, for the tests of commands that call it. */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { ended, makeBundle, runCommand, saying, startCommand } from "@posthorn/testkit/Command"
import { afterAll, beforeAll } from "vitest"

export const folder = mkdtempSync(join(tmpdir(), "posthorn-remote-"))
let url = ""
let token = ""

export const OPERATOR_TOKEN = "operator-token-of-these-tests"

/** As the operator. */
export const asOperator = () => ({ POSTHORN_URL: url, OPERATOR_TOKEN: `ci:${OPERATOR_TOKEN}` })

export const asked = () => ({ POSTHORN_URL: url, POSTHORN_TOKEN: token })

export const posthorn = (...words: ReadonlyArray<string>) => runCommand(words, asked())

export const json = async (...words: ReadonlyArray<string>) => {
  const { err, out } = await posthorn(...words, "--json")
  return out === "" ? { refused: err } : JSON.parse(out)
}

export const call = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${url}/workspaces/acme${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { text, body: text === "" ? {} : JSON.parse(text) }
}

interface Got {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A receiver that answers with the status set at the moment. */
export const receiver = async (status = 200) => {
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

export const makeEndpoint = async (address: string, eventTypes: string) =>
  (await posthorn("endpoints", "create", address, "--event-types", eventTypes)).out.trim()

/** A `dev` that runs as long as this test file. */
export const runDev = () => {
  let dev: ReturnType<typeof startCommand>

  beforeAll(async () => {
    await makeBundle()
    dev = startCommand(["dev"], {
      PORT: "0",
      DATA_DIR: join(folder, "data"),
      OPERATOR_TOKEN,
      DELIVERY_RETRY_DELAY: "50 millis"
    })
    const [, base, key] = await saying(dev)(
      /export POSTHORN_URL=(\S+) POSTHORN_TOKEN=(\S+)[\s\S]*Ctrl-C stops/
    )
    url = base!
    token = key!
  }, 240_000)

  afterAll(async () => {
    const gone = ended(dev)
    dev.kill("SIGTERM")
    await gone
    rmSync(folder, { recursive: true, force: true })
  }, 240_000)
}
