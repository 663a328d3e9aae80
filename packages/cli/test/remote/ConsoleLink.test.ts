/** `posthorn console-link`, as an operator uses it. */
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { certificate } from "@posthorn/testkit/Certificates"
import { type Environment, makeBundle, runCommand } from "@posthorn/testkit/Command"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const folder = mkdtempSync(join(tmpdir(), "posthorn-link-"))
const TOKEN = "operator-token-of-this-test"

const run = (args: ReadonlyArray<string>, environment: Environment) =>
  runCommand(["console-link", ...args], { DATA_DIR: join(folder, "none"), ...environment })

describe("posthorn console-link", () => {
  const asked: Array<{ url: string; authorization: string; body: string }> = []
  let server: Server
  let url = ""

  beforeAll(async () => {
    await makeBundle()
    server = createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += chunk
      asked.push({ url: request.url!, authorization: request.headers.authorization!, body })
      const known = request.url === "/workspaces/acme/console-links"
      response
        .writeHead(known ? 201 : 404, { "content-type": "application/json" })
        .end(
          JSON.stringify(known ? { url: `${url}/console/sign-in#code=x` } : { detail: "No such workspace." })
        )
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }, 60_000)

  afterAll(() => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it("§11 prints only the link on standard output, for a role or a member", async () => {
    const environment = { POSTHORN_URL: `${url}/`, OPERATOR_TOKEN: TOKEN }
    const plain = await run(["acme"], environment)
    const viewer = await run(["acme", "--role", "viewer"], environment)
    await run(["acme", "--member", "mem_1"], environment)

    assert.deepStrictEqual([plain.code, plain.out], [0, `${url}/console/sign-in#code=x\n`])
    assert.strictEqual(viewer.code, 0)
    assert.deepStrictEqual(
      asked.map(({ body }) => body),
      ["{}", '{"role":"viewer"}', '{"memberId":"mem_1"}']
    )
    assert.strictEqual(asked[0]!.authorization, `Bearer ${TOKEN}`)
  })

  it("§11 takes the operator's token from dev's folder", async () => {
    writeFileSync(join(folder, "dev.json"), JSON.stringify({ operatorToken: TOKEN, encryptionKey: "x" }))
    const { code } = await run(["acme"], { POSTHORN_URL: url, DATA_DIR: folder })
    assert.strictEqual(code, 0)
    assert.strictEqual(asked.at(-1)!.authorization, `Bearer ${TOKEN}`)
  })

  it("§11 says in one line what is wrong", async () => {
    const lineOf = async (
      args: ReadonlyArray<string>,
      environment: Readonly<Record<string, string>>,
      exit = 1
    ) => {
      const { code, err } = await run(args, environment)
      assert.strictEqual(code, exit)
      return err
    }
    const given = { POSTHORN_URL: url, OPERATOR_TOKEN: TOKEN }
    assert.match(await lineOf([], given, 2), /^posthorn: .*<workspace>.*\n$/)
    assert.match(
      await lineOf(["acme", "--king"], given, 2),
      /^posthorn console-link knows no option --king.*\n$/
    )
    assert.match(await lineOf(["acme", "--role", "king"], given, 2), /^posthorn: expected one of viewer.*\n$/)
    assert.strictEqual(await lineOf(["nobody"], given), "posthorn: No such workspace.\n")
    assert.match(await lineOf(["acme"], { POSTHORN_URL: url }), /^posthorn: No token is known here.*\n$/)
    const away = await lineOf(["acme"], { POSTHORN_URL: "http://127.0.0.1:9", OPERATOR_TOKEN: TOKEN })
    assert.match(
      away,
      /^posthorn: Posthorn cannot be reached at http:\/\/127\.0\.0\.1:9: check POSTHORN_URL, and that it runs\.\n$/
    )
    const untrusted = createTlsServer(certificate("self-signed")).listen(0, "127.0.0.1")
    await once(untrusted, "listening")
    const POSTHORN_URL = `https://127.0.0.1:${(untrusted.address() as AddressInfo).port}`
    const refused = await lineOf(["acme"], { POSTHORN_URL, OPERATOR_TOKEN: TOKEN })
    untrusted.close()
    assert.match(
      refused,
      /^posthorn: The certificate of https:.* is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/
    )
  })
})
