/**
 * What is served without a token: the OpenAPI document, the reference, the texts for agents, the two health checks,
 * and the meters.
 *
 * All but the last three is made once at start and served from memory; nothing on these pages asks another host for anything.
 */
import { HttpServerResponse } from "@effect/platform"
import { CONTENT_TYPE, prometheusText } from "@posthorn/telemetry/PrometheusText"
import { Effect } from "effect"
import { fullText } from "../guides/Guides.ts"
import { llmsText } from "../guides/Llms.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { asset } from "./Assets.ts"
import type { Exchange } from "./Exchange.ts"
import { OwnDocument } from "./OwnDocument.ts"
import { Readiness } from "./Readiness.ts"
import { referencePage } from "./Reference.ts"

type Page = (exchange: Exchange) => Effect.Effect<HttpServerResponse.HttpServerResponse>

export class Pages extends Effect.Service<Pages>()("@posthorn/server/Pages", {
  dependencies: [OwnDocument.Default, Readiness.Default],
  effect: Effect.gen(function* () {
    const readiness = yield* Readiness
    const { baseUrl } = yield* ServerConfig
    const own = yield* OwnDocument
    const json = yield* asset(own.text, { contentType: "application/json", headers: {} })
    const text = { contentType: "text/plain; charset=utf-8", headers: {} }
    const live = HttpServerResponse.unsafeJson({ status: "ok" }, { headers: { "cache-control": "no-store" } })
    const notReady = HttpServerResponse.unsafeJson(
      { status: "unavailable" },
      { status: 503, headers: { "cache-control": "no-store" } }
    )
    const ready = Effect.map(readiness.ask, (isReady) => (isReady ? live : notReady))
    const metrics = Effect.map(prometheusText, (text) =>
      HttpServerResponse.text(text, { contentType: CONTENT_TYPE, headers: { "cache-control": "no-store" } })
    )
    const made = yield* Effect.cached(referencePage(own.document, baseUrl))

    const pages: Readonly<Record<string, Page>> = {
      "/": () => Effect.succeed(HttpServerResponse.redirect("/reference", { status: 302 })),
      "/openapi.json": json,
      "/llms.txt": yield* asset(llmsText(baseUrl), text),
      "/llms-full.txt": yield* asset(fullText(baseUrl), text),
      "/reference": (exchange) => Effect.flatMap(made, (page) => page(exchange)),
      "/health/live": () => Effect.succeed(live),
      "/health/ready": () => ready,
      "/metrics": () => metrics
    }

    /** The page at this path, for GET and HEAD. */
    const find = (method: string, pathname: string) =>
      (method === "GET" || method === "HEAD") && Object.hasOwn(pages, pathname) ? pages[pathname] : undefined

    const allowed = (pathname: string) => (Object.hasOwn(pages, pathname) ? "GET, HEAD" : undefined)

    return { allowed, find } as const
  })
}) {}
