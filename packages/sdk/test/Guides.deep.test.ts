/**
 * The clients' examples in docs/publish.md and docs/receive.md, as they stand there, with what they leave to the reader around them:
 * each publishes against a real Posthorn, and each receiver takes what is signed and refuses what is not.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer, test } from "@effect/vitest"
import { sign } from "@posthorn/signature"
import { ended } from "@posthorn/testkit/Packed"
import { Effect } from "effect"
import { TestServer, testServer } from "../../server/test/TestServer.ts"
import { drivers, PYTHON } from "./Drivers.ts"

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const root = fileURLToPath(new URL("../../../", import.meta.url))

/** The first block of the language after the text. */
const block = (guide: string, after: string, language: string) => {
  const text = readFileSync(join(root, "docs", guide), "utf8")
  const [, found] = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "m").exec(
    text.slice(text.indexOf(after))
  )!
  return found!
}
const publishing = (language: string) => block("publish.md", "The same with a [client]", language)
const receiving = (language: string) => block("receive.md", "### With a client", language)

const indented = (code: string, by: string) => code.replace(/^(?=.)/gm, by)

const GO_MOD = `module example\n\ngo 1.19\n\nrequire github.com/posthorn/posthorn-go v0.0.0\n\nreplace github.com/posthorn/posthorn-go => ${path("go")}\n`

/** Each prints the ids that it was answered, then the status of a request that is signed, and of one that is not. */
const programs: Readonly<
  Record<
    string,
    {
      readonly file: string
      readonly code: string
      readonly run: readonly [string, ...ReadonlyArray<string>]
    }
  >
> = {
  typescript: {
    file: "guide.mts",
    code: `import { Posthorn, VerificationError, verify } from "${path("src/index.ts")}"
const { env } = process
const posthorn = new Posthorn({ url: env.POSTHORN_URL!, token: env.POSTHORN_TOKEN!, workspace: env.POSTHORN_WORKSPACE! })
const store = async (..._: ReadonlyArray<unknown>) => undefined
${publishing("ts")}
${receiving("ts")}
const request = (signature: string) =>
  new Request("http://receiver/", { method: "POST", body: env.BODY!, headers: { "webhook-id": "whd_1", "webhook-timestamp": env.NOW!, "webhook-signature": signature } })
console.log([paid.id, ...items.map(({ id }) => id)].length, (await receive(request(env.SIGNATURE!))).status, (await receive(request("v1,no"))).status)
`,
    run: [process.execPath, "--import", "tsx", "guide.mts"]
  },
  python: {
    file: "guide.py",
    code: `import json, os
import posthorn as package
def store(*_): pass
with package.Posthorn(url=os.environ["POSTHORN_URL"], token=os.environ["POSTHORN_TOKEN"], workspace=os.environ["POSTHORN_WORKSPACE"]) as posthorn:
${indented(publishing("python"), "    ")}
posthorn = package
${receiving("python")}
def request(signature):
    return receive({"Webhook-Id": "whd_1", "Webhook-Timestamp": os.environ["NOW"], "Webhook-Signature": signature}, os.environ["BODY"].encode())
print(len([paid["id"], *both["items"]]), request(os.environ["SIGNATURE"]), request("v1,no"))
`,
    run: [PYTHON, "guide.py"]
  },
  go: {
    file: "main.go",
    code: `package main
import ("context"; "fmt"; "io"; "net/http"; "net/http/httptest"; "os"; "strings"; "github.com/posthorn/posthorn-go")
func store(id string, body []byte) {}
${receiving("go")}
func request(signature string) int {
	sent := httptest.NewRequest("POST", "/", strings.NewReader(os.Getenv("BODY")))
	sent.Header.Set("webhook-id", "whd_1")
	sent.Header.Set("webhook-timestamp", os.Getenv("NOW"))
	sent.Header.Set("webhook-signature", signature)
	answer := httptest.NewRecorder()
	receive(answer, sent)
	return answer.Code
}
func main() {
	ctx := context.Background()
	client := posthorn.New(posthorn.Options{URL: os.Getenv("POSTHORN_URL"), Token: os.Getenv("POSTHORN_TOKEN"), Workspace: os.Getenv("POSTHORN_WORKSPACE")})
${indented(publishing("go"), "\t")}
	if err != nil { panic(err) }
	fmt.Println(len(append(both.Items, *paid)), request(os.Getenv("SIGNATURE")), request("v1,no"))
}
`,
    run: ["go", "run", "."]
  }
}

const emptyFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-guide-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

// Found from the repository alone.
const TSX = join(root, "node_modules/tsx/dist/esm/index.mjs")
const STANDARD_WEBHOOKS = createRequire(join(root, "packages/signature/package.json")).resolve(
  "standardwebhooks"
)

/** A request that is signed, for programs to build. */
const signed = () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
  const body = '{"deliveryId":"whd_1"}'
  const now = Math.floor(Date.now() / 1000)
  const signature = sign({ id: "whd_1", timestamp: now, body, secrets: [secret] })
  return { WEBHOOK_SECRET: secret, BODY: body, NOW: String(now), SIGNATURE: signature }
}

layer(testServer(), { excludeTestServices: true })("the guides' examples", (it) => {
  for (const [name, { code, file, run }] of Object.entries(programs))
    if (!drivers[name]!.isHere && !process.env.CI) test.skip(`${name} is not installed`)
    else
      it.scoped(`${name}: publish and receive`, () =>
        Effect.gen(function* () {
          const { enter, url } = yield* TestServer
          const ws = yield* enter
          const folder = yield* emptyFolder
          writeFileSync(join(folder, file), code)
          writeFileSync(join(folder, "go.mod"), GO_MOD)
          const env = {
            ...signed(),
            ...{ PATH: process.env.PATH, HOME: process.env.HOME },
            ...{ PYTHONPATH: path("python/src"), GOFLAGS: "-mod=mod" },
            ...{ POSTHORN_URL: url, POSTHORN_TOKEN: ws.token, POSTHORN_WORKSPACE: ws.slug }
          }
          const [command, ...args] = run.map((word) => (word === "tsx" ? TSX : word))

          const said = yield* ended(execFile(command!, args, { cwd: folder, env }))

          expect(said).toEqual({ code: 0, out: "3 204 401\n", err: "" })
        })
      )

  it.scoped("receivers without a client", () =>
    Effect.gen(function* () {
      const folder = yield* emptyFolder
      const env = { ...signed(), PATH: process.env.PATH }
      const node = block("receive.md", "### Node, with `@posthorn/signature`", "js")
        .replace('"@posthorn/signature"', JSON.stringify(join(root, "packages/signature/src/index.ts")))
        .replace(
          ".listen(3000)",
          ".listen(0, async function () { await tried(this.address().port); this.close() })"
        )
      const standard = block("receive.md", "### Node, with `standardwebhooks`", "js")
      writeFileSync(join(folder, "package.json"), '{"type": "module"}')
      writeFileSync(join(folder, "store.js"), "export const store = async () => undefined")
      writeFileSync(
        join(folder, "receiver.mjs"),
        `${node}
const ask = async (port, signature) =>
  (await fetch("http://127.0.0.1:" + port, { method: "POST", body: process.env.BODY, headers: { "webhook-id": "whd_1", "webhook-timestamp": process.env.NOW, "webhook-signature": signature } })).status
const tried = async (port) => console.log(await ask(port, process.env.SIGNATURE), await ask(port, "v1,no"))`
      )
      writeFileSync(
        join(folder, "standard.mjs"),
        `${standard.replace('"standardwebhooks"', JSON.stringify(STANDARD_WEBHOOKS)).replace(
          /^const webhook/m,
          `const body = process.env.BODY
const request = { headers: { "webhook-id": "whd_1", "webhook-timestamp": process.env.NOW, "webhook-signature": process.env.SIGNATURE } }
const webhook`
        )}
console.log(deliveryId, WebhookVerificationError.name)`
      )
      writeFileSync(
        join(folder, "receiver.py"),
        `import os
${block("receive.md", "### Python, without a package", "python")}
headers = {"Webhook-Id": "whd_1", "webhook-timestamp": os.environ["NOW"], "Webhook-Signature": os.environ["SIGNATURE"]}
print(verify(os.environ["WEBHOOK_SECRET"], headers, os.environ["BODY"].encode()))
try: verify(os.environ["WEBHOOK_SECRET"], {**headers, "Webhook-Signature": "v1,no"}, b"")
except ValueError as error: print(error)`
      )

      const receiver = yield* ended(
        execFile(process.execPath, ["--import", TSX, "receiver.mjs"], { cwd: folder, env })
      )
      const library = yield* ended(execFile(process.execPath, ["standard.mjs"], { cwd: folder, env }))
      const python = yield* ended(execFile("python3", ["receiver.py"], { cwd: folder, env }))

      expect(receiver).toEqual({ code: 0, out: "204 401\n", err: "" })
      expect(library.out).toBe("whd_1 WebhookVerificationError\n")
      expect(python).toEqual({ code: 0, out: "whd_1\nno signature matches\n", err: "" })
    })
  )

  it.scoped("curl and SQL: publish", () =>
    Effect.gen(function* () {
      const { enter, url } = yield* TestServer
      const sql = yield* SqlClient
      const ws = yield* enter
      const guide = readFileSync(join(root, "docs/publish.md"), "utf8").replaceAll("'acme'", `'${ws.slug}'`)
      const curls = [...guide.matchAll(/^```\n(curl [\s\S]*?)^```/gm)].map(([, command]) =>
        command!.replace("https://hooks.example.com/workspaces/acme", `${url}/workspaces/${ws.slug}`)
      )
      const statements = [...guide.matchAll(/^```sql\n((?:begin|select \* from)[\s\S]*?)^```/gm)].map(
        ([, text]) => text!.replace(/^update invoices.*\n/m, "")
      )

      const env = { PATH: process.env.PATH, POSTHORN_TOKEN: ws.token }
      const answers = yield* Effect.forEach(curls, (command) =>
        ended(execFile("bash", ["-c", command.replace("curl ", "curl --silent ")], { env }))
      )
      for (const text of statements) yield* sql.unsafe(text)
      const { body } = yield* ws.call("GET", "/events?limit=200")

      const published = body.items
        .map(({ eventType }) => String(eventType))
        .filter((type) => /^invoice/.test(type))
      expect(answers.map(({ out }) => JSON.parse(out)._tag)).toEqual([undefined, undefined])
      // The first in SQL has the key of the first over REST.
      expect(statements).toHaveLength(2)
      expect(published.sort()).toEqual([
        "invoice.paid",
        "invoice.paid",
        "invoice.paid",
        "invoice.voided",
        "invoice.voided"
      ])
    })
  )
})
