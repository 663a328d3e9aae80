/**
 * What is served without a token: the OpenAPI document, the reference, the texts for agents, and the two health checks.
 *
 * Everything is made once at start and served from memory; nothing on these pages asks another host for anything.
 */
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { fullText } from "../guides/Guides.ts"
import { llmsText } from "../guides/Llms.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { asset } from "./Assets.ts"
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
    const json = yield* asset(JSON.stringify(document), { contentType: "application/json", headers: {} })
    const text = { contentType: "text/plain; charset=utf-8", headers: {} }
    const live = HttpServerResponse.unsafeJson({ status: "ok" }, { headers: { "cache-control": "no-store" } })
    const notReady = HttpServerResponse.unsafeJson(
      { status: "unavailable" },
      { status: 503, headers: { "cache-control": "no-store" } }
    )
    const ready = Effect.map(readiness.ask, (isReady) => (isReady ? live : notReady))
    const made = yield* Effect.cached(referencePage(document, baseUrl))

    const pages: Readonly<Record<string, Page>> = {
      "/": Effect.succeed(HttpServerResponse.redirect("/reference", { status: 302 })),
      "/openapi.json": json,
      "/llms.txt": yield* asset(llmsText(baseUrl), text),
      "/llms-full.txt": yield* asset(fullText(baseUrl), text),
      "/reference": Effect.flatten(made),
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
