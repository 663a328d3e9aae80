import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestServer, testServer } from "../TestServer.ts"

layer(testServer(), { excludeTestServices: true })("the pages", (it) => {
  it.effect(
    "§4 the reference is one page that loads nothing from other hosts, over this installation's document",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestServer

        const page = yield* call("GET", "/reference")
        const document = yield* call<{ readonly servers: ReadonlyArray<{ readonly url: string }> }>(
          "GET",
          "/openapi.json"
        )

        const embedded = /<script id="api-reference" type="application\/json">([\s\S]*?)<\/script>/.exec(
          page.text
        )![1]!
        expect(page.status).toBe(200)
        expect(JSON.parse(embedded)).toEqual(document.body)
        expect(document.body.servers[0]!.url).toBe("http://posthorn.test")
        expect(page.text).not.toMatch(/<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?\/\//)
        expect(page.text).toContain('<link rel="icon" href="/console/favicon.svg">')
        expect(page.headers.get("content-security-policy")).toMatch(
          /^sandbox allow-scripts allow-popups; default-src 'none'/
        )
      })
  )

  it.effect("§4.3 the root leads to the reference, which is compressed only for clients that accept it", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ask = (accepted: string) =>
        call("GET", "/reference", { headers: { "accept-encoding": accepted } })

      const root = yield* call("GET", "/")
      const answers = yield* Effect.forEach(["gzip, br", "identity", "*", "gzip;q=0, *"], ask)
      const zipped = yield* ask("gzip, br;q=0")

      expect([root.status, root.headers.get("location")]).toEqual([302, "/reference"])
      expect(answers.map(({ headers }) => headers.get("content-encoding"))).toEqual(["br", null, "br", "br"])
      expect(zipped.headers.get("content-encoding")).toBe("gzip")
      for (const { headers, text } of answers) {
        expect(headers.get("vary")).toBe("accept-encoding")
        expect(text).toContain("</html>")
      }
    })
  )

  it.effect("§4.3 an unchanged page is not sent again, in any encoding", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const paths = ["/openapi.json", "/reference", "/llms.txt", "/llms-full.txt"]

      for (const path of paths) {
        const tags = new Set<string>()
        for (const accepted of ["br", "gzip", "identity"]) {
          const headers = { "accept-encoding": accepted }
          const first = yield* call("GET", path, { headers })
          const tag = first.headers.get("etag")!
          tags.add(tag)
          const again = yield* call("GET", path, {
            headers: { ...headers, "if-none-match": `"old", W/${tag}` }
          })
          const other = yield* call("GET", path, { headers: { ...headers, "if-none-match": '"old"' } })

          expect(first.headers.get("content-encoding")).toBe(accepted === "identity" ? null : accepted)
          expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag])
          expect([other.status, other.text]).toEqual([200, first.text])
        }
        expect(tags.size).toBe(3)
      }
    })
  )

  it.effect("§4.3 the texts for agents say how to verify a signature, and contain the guides", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer

      const short = yield* call("GET", "/llms.txt")
      const full = yield* call("GET", "/llms-full.txt")

      for (const said of [
        "HMAC-SHA256",
        "webhook-signature",
        "constant time",
        "300 seconds",
        "/llms-full.txt"
      ]) {
        expect(short.text).toContain(said)
      }
      expect(full.text.startsWith(short.text.trimEnd())).toBe(true)
      for (const title of ["Your first endpoint", "state machine", "Compatibility", "Publish", "Receiv"]) {
        expect(full.text).toMatch(new RegExp(`^# .*${title}`, "m"))
      }
      expect(full.headers.get("content-type")).toContain("text/plain")
    })
  )

  it.effect("§4.3 the health checks need no token, and every page has a trace id", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer

      const live = yield* call("GET", "/health/live")
      const ready = yield* call("GET", "/health/ready")
      const reference = yield* call("HEAD", "/reference")

      for (const { headers, status } of [live, ready, reference]) {
        expect(status).toBe(200)
        expect(headers.get("x-trace-id")).toMatch(/^[0-9a-f]{32}$/)
      }
    })
  )
})
