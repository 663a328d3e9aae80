/**
 * The pages without a token: the OpenAPI document, the reference, the texts for agents, the two health checks, and the meters.
 *
 * All but the reference (made when it is first asked for), the catalogue (if it is public), readiness and the meters are made once
 * at start. None of these pages loads anything from another host.
 */
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { EventTypeDocuments } from "@posthorn/capabilities/EventTypeDocuments"
import { CONTENT_TYPE, makePrometheusText } from "@posthorn/telemetry/PrometheusText"
import { Effect, Layer } from "effect"
import { OwnDocument } from "../http/OwnDocument.ts"
import { Readiness } from "../http/Readiness.ts"
import { staticText } from "../http/StaticText.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { fullText } from "./Guides.ts"
import { llmsText } from "./Llms.ts"

export const pagesLive = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const readiness = yield* Readiness
    const { baseUrl, publicCatalogue } = yield* ServerConfig
    const { get: documents } = yield* EventTypeDocuments
    const own = yield* OwnDocument
    const text = { contentType: "text/plain; charset=utf-8", headers: {} }
    const health = (status: number, value: object) =>
      HttpServerResponse.unsafeJson(value, { status, headers: { "cache-control": "no-store" } })
    const metrics = Effect.map(yield* makePrometheusText, (text) =>
      HttpServerResponse.text(text, { contentType: CONTENT_TYPE, headers: { "cache-control": "no-store" } })
    )
    // Loaded when it is first asked for: Scalar takes 10 MB.
    const reference = yield* Effect.cached(
      Effect.flatMap(
        Effect.promise(() => import("../http/Reference.ts")),
        ({ referencePage }) => referencePage(own.document)
      )
    )

    // For each version of the catalogue a page of its own.
    let catalogue = { version: Number.NaN, page: yield* staticText("", text) }
    const eventTypes = Effect.gen(function* () {
      const { openapi, version } = yield* documents
      if (catalogue.version !== version)
        catalogue = {
          version,
          page: yield* staticText(openapi, { contentType: "application/json", headers: {} })
        }
      return yield* catalogue.page
    })

    yield* router.get("/", Effect.succeed(HttpServerResponse.redirect("/reference", { status: 302 })))
    yield* router.get(
      "/openapi.json",
      yield* staticText(own.text, { contentType: "application/json", headers: {} })
    )
    if (publicCatalogue) yield* router.get("/event-types.json", eventTypes)
    yield* router.get("/llms.txt", yield* staticText(llmsText(baseUrl), text))
    yield* router.get("/llms-full.txt", yield* staticText(fullText(baseUrl), text))
    yield* router.get("/reference", Effect.flatten(reference))
    yield* router.get("/health/live", Effect.succeed(health(200, { status: "ok" })))
    yield* router.get(
      "/health/ready",
      Effect.map(readiness.unready, (reason) =>
        reason === null
          ? health(200, { status: "ok", ...readiness.database() })
          : health(503, { status: "unavailable", reason })
      )
    )
    yield* router.get("/metrics", metrics)
  })
).pipe(Layer.provide([EventTypeDocuments.Default, OwnDocument.Default, Readiness.Default]))
