/**
 * What is served without a token: the OpenAPI document, the reference, and the two health checks.
 *
 * Everything is made once at start and served from memory; nothing on these pages asks another host for anything.
 */
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { llmsText } from "../guides/Llms.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { openApiDocument } from "./OpenApiDocument.ts"
import { Readiness } from "./Readiness.ts"
import { referencePage } from "./Reference.ts"

type Page = Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>

export class Pages extends Effect.Service<Pages>()("@posthorn/server/Pages", {
  dependencies: [Readiness.Default],
  effect: Effect.gen(function* () {
    const readiness = yield* Readiness
    const { baseUrl, version } = yield* ServerConfig
    const document = openApiDocument({ baseUrl, version })
    const json = HttpServerResponse.text(JSON.stringify(document), {
      contentType: "application/json",
      headers: { "cache-control": "no-cache" }
    })
    const live = HttpServerResponse.unsafeJson({ status: "ok" }, { headers: { "cache-control": "no-store" } })
    const notReady = HttpServerResponse.unsafeJson(
      { status: "unavailable" },
      { status: 503, headers: { "cache-control": "no-store" } }
    )
    const ready = Effect.map(readiness.ask, (isReady) => (isReady ? live : notReady))
    const made = yield* Effect.cached(referencePage(document, baseUrl))
    const reference = Effect.zipWith(made, HttpServerRequest.HttpServerRequest, (page, { headers }) =>
      page(headers["accept-encoding"])
    )

    const pages: Readonly<Record<string, Page>> = {
      "/": Effect.succeed(HttpServerResponse.redirect("/reference", { status: 302 })),
      "/openapi.json": Effect.succeed(json),
      "/llms.txt": Effect.succeed(
        HttpServerResponse.text(llmsText(baseUrl), { contentType: "text/plain; charset=utf-8" })
      ),
      "/reference": reference,
      "/health/live": Effect.succeed(live),
      "/health/ready": ready
    }

    /** The page at this path, for GET and HEAD. */
    const find = (method: string, pathname: string) =>
      (method === "GET" || method === "HEAD") && Object.hasOwn(pages, pathname) ? pages[pathname] : undefined

    const allowed = (pathname: string) => (Object.hasOwn(pages, pathname) ? "GET, HEAD" : undefined)

    return { allowed, find } as const
  })
}) {}
