/** Each client as users get it: installed into an empty folder, running what its README shows, with types that refuse mistakes. */
import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { expect, layer, test } from "@effect/vitest"
import { ended, installPacked, readmeBlock } from "@posthorn/testkit/Packed"
import { Effect } from "effect"
import { build } from "esbuild"
import { type Entered, TestServer, testServer } from "../../server/test/TestServer.ts"
import { drivers, PYTHON } from "./Drivers.ts"

const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url))
const folderOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

const emptyFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-sdk-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const run = (
  cwd: string,
  command: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
) =>
  ended(
    execFile(command, [...args], { cwd, env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } })
  )

/** A workspace with an endpoint, and what the READMEs' programs read from their environment. */
const prepared = Effect.gen(function* () {
  const { enter, url } = yield* TestServer
  const ws: Entered = yield* enter
  yield* ws.call("POST", "/webhooks", { body: { url: "https://example.com/hooks", eventTypes: ["*"] } })
  return { POSTHORN_URL: url, POSTHORN_WORKSPACE: ws.slug, POSTHORN_TOKEN: ws.token }
})

const PUBLISHED = /^evt_\w+: 1 deliveries\nwhe_\w+ https:\/\/example\.com\/hooks\n$/

layer(testServer(), { excludeTestServices: true })("the packed clients", (it) => {
  it.scoped("TypeScript: 20 KB at most, without dependencies", () =>
    Effect.gen(function* () {
      const env = yield* prepared
      const installed = yield* installPacked("sdk")
      installed.write("publish.mjs", readmeBlock("sdk", "js"))
      installed.write(
        "consumer.ts",
        `import { Posthorn, type Listed, type Delivery, type PosthornError } from "@posthorn/sdk"
declare const posthorn: Posthorn
export const deliveries: Listed<Delivery> = posthorn.listWebhookDeliveries({ endpointId: "whe_1", status: "failed" })
export const tag = (error: PosthornError) => error.tag === "RateLimited"
// @ts-expect-error no such status
posthorn.listWebhookDeliveries({ endpointId: "whe_1", status: "lost" })
// @ts-expect-error a payload is needed
posthorn.publishEvent({ eventType: "invoice.paid" })
`
      )

      const published = yield* ended(installed.node(["publish.mjs"], env))
      const strict = [
        "--strict",
        "--noEmit",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--types",
        "",
        "--lib",
        "es2023,dom,dom.asynciterable"
      ]
      const types = yield* ended(installed.node([TSC, ...strict, "consumer.ts"]))
      const bundle = yield* Effect.promise(() =>
        build({
          entryPoints: [join(installed.folder, "node_modules/@posthorn/sdk/lib/sdk/index.js")],
          bundle: true,
          minify: true,
          format: "esm",
          platform: "browser",
          write: false
        })
      )

      expect(published).toMatchObject({ code: 0, err: "", out: expect.stringMatching(PUBLISHED) })
      expect(types).toEqual({ code: 0, out: "", err: "" })
      expect(gzipSync(bundle.outputFiles[0]!.contents).length).toBeLessThan(20 * 1024)
    })
  )

  const isLeftOut = (name: "go" | "python") => !drivers[name]!.isHere && !process.env.CI

  if (isLeftOut("python")) test.skip("Python needs Debian's python3-httpx and python3-venv")
  else
    it.scoped("Python: installed into an environment of its own, typed strictly", () =>
      Effect.gen(function* () {
        const env = yield* prepared
        const folder = yield* emptyFolder
        writeFileSync(join(folder, "publish.py"), readmeBlock("sdk/python", "python"))
        writeFileSync(
          join(folder, "mistaken.py"),
          'from posthorn import Posthorn\n\n\ndef publish(posthorn: Posthorn) -> None:\n    posthorn.publish_event(event_type="invoice.paid")\n'
        )
        const pip = [
          "-m",
          "pip",
          "install",
          "--quiet",
          "--no-index",
          "--no-build-isolation",
          "--disable-pip-version-check"
        ]

        // Building leaves files in the source.
        cpSync(folderOf("sdk/python"), join(folder, "source"), { recursive: true })
        yield* run(folder, PYTHON, ["-m", "venv", "--system-site-packages", "venv"])
        const installed = yield* run(folder, "venv/bin/python", [...pip, "./source"])
        const published = yield* run(folder, "venv/bin/python", ["publish.py"], env)
        const checked = yield* run(join(folder, "source"), "mypy", ["src"])
        const mistaken = yield* run(folder, "mypy", [
          "--python-executable",
          "venv/bin/python",
          "publish.py",
          "mistaken.py"
        ])

        expect(installed).toMatchObject({ code: 0 })
        expect(published).toMatchObject({ code: 0, err: "", out: expect.stringMatching(PUBLISHED) })
        expect(checked.out).toContain("no issues found")
        expect(mistaken.out).toMatch(
          /mistaken\.py:5: error: Missing named argument "payload"[^\n]*\nFound 1 error/
        )
      })
    )

  if (isLeftOut("go")) test.skip("Go needs Go 1.19")
  else
    it.scoped("Go: the README's program in a module of its own", () =>
      Effect.gen(function* () {
        const env = { ...(yield* prepared), GOFLAGS: "-mod=mod", GOPROXY: "off" }
        const folder = yield* emptyFolder
        const module = "github.com/posthorn/posthorn-go"
        writeFileSync(join(folder, "main.go"), readmeBlock("sdk/go", "go"))
        writeFileSync(
          join(folder, "go.mod"),
          `module example\n\ngo 1.19\n\nrequire ${module} v0.0.0\n\nreplace ${module} => ${folderOf("sdk/go")}\n`
        )

        const published = yield* run(folder, "go", ["run", "."], env)
        const unformatted = yield* run(folderOf("sdk/go"), "gofmt", ["-l", "."])
        const vetted = yield* run(folderOf("sdk/go"), "go", ["vet", "./..."])

        expect(published).toMatchObject({ code: 0, err: "", out: expect.stringMatching(PUBLISHED) })
        expect([unformatted.out, vetted.code]).toEqual(["", 0])
        expect(readFileSync(join(folderOf("sdk/go"), "go.mod"), "utf8")).not.toContain("require")
      })
    )
})
