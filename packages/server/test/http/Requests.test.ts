import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { Effect } from "effect"
import { unknown } from "../Fixtures.ts"
import { sendRaw } from "../RawHttp.ts"
import { pathOf, sampleOf, type World } from "../Samples.ts"
import { OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

/** `java File.java` compiles first, so it needs a JDK. */
const hasJdk = spawnSync("javac", ["-version"]).status === 0

const PUBLISH_JAVA = `import java.net.URI;
import java.net.http.*;
class Publish {
  public static void main(String[] args) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(args[0]))
      .header("authorization", "Bearer " + args[1]).header("content-type", "application/json")
      .POST(HttpRequest.BodyPublishers.ofString("{\\"eventType\\":\\"a.b\\",\\"payload\\":1}")).build();
    System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
  }
}`

const problem = (_tag: string, status: number) =>
  expect.objectContaining({ _tag, status, traceId: expect.any(String) })

layer(testServer(), { excludeTestServices: true })("requests", (it) => {
  const entered = Effect.flatMap(TestServer, ({ enter }) => enter)

  it.effect(
    "§7.1 HEAD is GET without a body, a method that is not there 405 with Allow, a path that is not 404",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestServer
        const ws = yield* entered

        const get = yield* ws.call("GET", "/webhooks")
        const head = yield* ws.call("HEAD", "/webhooks")
        const slash = yield* ws.call("GET", "/webhooks/")
        const put = yield* ws.call("PUT", "/webhooks")
        const options = yield* ws.call("OPTIONS", "/webhooks")
        const page = yield* call("DELETE", "/openapi.json")
        const broken = yield* ws.call("GET", "/%ZZ/webhooks")
        const nothing = yield* call("GET", "/nothing")

        expect([get.status, head.status, slash.status]).toEqual([200, 200, 200])
        expect(head.text).toBe("")
        expect(head.headers.get("content-length")).toBe(get.headers.get("content-length"))
        for (const answer of [put, options]) {
          expect(answer.body).toEqual(problem("MethodNotAllowed", 405))
          expect(answer.headers.get("allow")).toBe("GET, POST, HEAD")
        }
        expect(page.headers.get("allow")).toBe("GET, HEAD")
        for (const answer of [broken, nothing]) expect(answer.body).toEqual(problem("RouteNotFound", 404))
      })
  )

  it.effect("§7.1 an offered upgrade is ignored, and the body is read", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const ws = yield* entered
      const body = JSON.stringify({ eventType: "a.b", payload: 1 })
      // As Java's HttpClient and `curl --http2` send it by default over plain HTTP.
      const offer =
        "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAAAAIAAAAB\r\n"
      const publish = `POST /workspaces/${ws.slug}/events HTTP/1.1\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\n`
      const head = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
      const answers = yield* Effect.forEach(
        [`GET /health/live HTTP/1.1\r\n${offer}\r\n`, `${publish}${head}${offer}\r\n${body}`],
        (request) => sendRaw(url, (socket) => socket.write(request))
      )
      expect(answers.map(({ status }) => status)).toEqual([200, 202])
    })
  )

  it.effect.skipIf(!hasJdk)("§7.1 Java's own client publishes over plain HTTP", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const ws = yield* entered
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "java-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      const file = join(folder, "Publish.java")
      writeFileSync(file, PUBLISH_JAVA)
      const run = promisify(execFile)
      const { stdout } = yield* Effect.promise(() =>
        run("java", [file, `${url}/workspaces/${ws.slug}/events`, OPERATOR_TOKEN])
      )
      expect(stdout.trim()).toBe("202")
    }).pipe(Effect.scoped)
  )

  it.effect("§4.3 a # in the request target is 400, and a ; belongs to its segment", () =>
    Effect.gen(function* () {
      const { call, url } = yield* TestServer
      const ws = yield* entered
      const { body } = yield* ws.call("POST", "/webhooks", {
        body: { url: "https://example.com/x", eventTypes: ["*"] }
      })
      const remove = (path: string) => call("DELETE", path, { token: OPERATOR_TOKEN })
      const raw = (target: string) =>
        sendRaw(url, (socket) =>
          socket.write(`DELETE ${target} HTTP/1.1\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\n\r\n`)
        )

      const slugs = yield* Effect.forEach([";x", "%3Bx", "%23x"], (tail) =>
        remove(`/workspaces/${ws.slug}${tail}/webhooks/${body.id}`)
      )
      const ids = yield* Effect.forEach([";x", "%3bx", "%23x", "%23"], (tail) =>
        ws.call("DELETE", `/webhooks/${body.id}${tail}`)
      )
      const paths = yield* Effect.forEach([";x", "%3Bx", "%23x"], (tail) =>
        ws.call("GET", `/webhooks${tail}`)
      )
      const targets = yield* Effect.forEach(
        ["#", "#/webhooks", "/webhooks#x", "/webhooks?limit=1#x"],
        (tail) => raw(`/workspaces/${ws.slug}${tail}`)
      )
      const list = yield* ws.call("GET", "/webhooks")

      for (const answer of slugs) expect(answer.body).toEqual(problem("WorkspaceNotFound", 404))
      for (const answer of ids) expect(answer.body).toEqual(problem("WebhookEndpointNotFound", 404))
      for (const answer of paths) expect(answer.body).toEqual(problem("RouteNotFound", 404))
      for (const answer of targets) expect(answer.body).toEqual(problem("InvalidRequest", 400))
      expect(list.body.items).toHaveLength(1)
    })
  )

  it.effect(
    "§4.3 an unknown query parameter is 400 on every operation, after the permission and before an unknown id",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestServer
        const ws = yield* entered
        const weak = yield* ws.tokenWith("notification:update")
        const world = new Proxy({} as World, {
          get: (_, name) => (name === "slug" ? ws.slug : unknown(String(name)))
        })
        const asked = entries.map((entry) => [entry, sampleOf(entry, world)] as const)
        const ask = (token: string, extra: string) =>
          Effect.forEach(asked, ([entry, { body, query }]) => {
            const path = pathOf(entry, world, query)
            return call(entry.method, `${path}${path.includes("?") ? "&" : "?"}${extra}`, { token, body })
          })

        const answers = yield* ask(OPERATOR_TOKEN, "limits=5&__proto__=1")
        const forbidden = yield* ask(weak, "limits=5")

        for (const [index, answer] of answers.entries()) {
          const name = asked[index]![0].name
          expect(answer.body, name).toEqual(problem("InvalidRequest", 400))
          expect(answer.body.issues, name).toEqual([
            { path: "/limits", message: "is not known here: check the spelling, or leave it out" },
            { path: "/__proto__", message: "is not known here: check the spelling, or leave it out" }
          ])
        }
        const needsMore = forbidden.filter((_, index) =>
          ["notification:update", "any"].every((name) => asked[index]![0].rules.permission !== name)
        )
        expect(needsMore.length).toBeGreaterThan(20)
        for (const answer of needsMore) expect([403, 404]).toContain(answer.status)
      })
  )

  it.effect("§4.3 of thousands of unknown query parameters 50 are named", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const names = Array.from({ length: 2_000 }, (_, index) => `n${index}=1`)

      const answer = yield* ws.call("GET", `/webhooks?${names.join("&")}`)

      expect(answer.body).toEqual(problem("InvalidRequest", 400))
      expect(answer.body.issues).toHaveLength(50)
    })
  )

  it.effect("§4.3 an id that is long or does not decode is unknown, and an empty cursor is ignored", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* ws.call("POST", "/webhooks", { body: { url: "https://example.com/x", eventTypes: ["*"] } })

      const long = yield* ws.call("GET", `/webhooks/${"x".repeat(5_000)}`)
      const broken = yield* ws.call("GET", "/webhooks/%ff")
      const list = yield* ws.call("GET", "/webhooks?cursor=")

      for (const answer of [long, broken])
        expect(answer.body).toEqual(problem("WebhookEndpointNotFound", 404))
      expect(list.body.items).toHaveLength(1)
    })
  )

  it.effect("§7.1 a valid traceparent is continued, and any other starts a new trace", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
      const ask = (traceparent: string) => ws.call("GET", "/webhooks/whe_0", { headers: { traceparent } })

      const continued = yield* ask(`00-${trace}-00f067aa0ba902b7-01`)
      const zero = yield* ask(`00-${"0".repeat(32)}-00f067aa0ba902b7-01`)
      const upper = yield* ask(`00-${trace.toUpperCase()}-00f067aa0ba902b7-01`)

      expect(continued.headers.get("x-trace-id")).toBe(trace)
      expect(continued.body.traceId).toBe(trace)
      for (const { headers } of [zero, upper])
        expect(headers.get("x-trace-id")).toMatch(/^(?!4bf92f|0{32})[0-9a-f]{32}$/)
    })
  )
})
