/**
 * The interactive reference at `/reference`: Scalar, served by ourselves with its script inlined.
 *
 * No request goes to another host: fonts come from the system, and nothing is loaded from a CDN. The page is 3.3 MB of
 * HTML, so it is made and compressed once, at the first visit. It needs its script inline and hence a looser policy
 * than anything else that is served here; it holds no secret and sends no token but one that is typed into it.
 */
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { HttpApiScalar, HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { Effect } from "effect"

const compress = promisify(gzip)

const scalar = HttpApiScalar.layerHttpLayerRouter({
  api: Api,
  path: "/reference",
  scalar: { withDefaultFonts: false }
})

/** The page, ready to be sent to a browser that takes gzip; every browser does. */
export const referencePage = Effect.gen(function* () {
  const app = yield* HttpLayerRouter.toHttpEffect(scalar)
  const request = HttpServerRequest.fromWeb(new Request("http://localhost/reference"))
  const page = yield* Effect.provideService(app, HttpServerRequest.HttpServerRequest, request)
  const html = yield* Effect.promise(() => HttpServerResponse.toWeb(page).text())
  const body = yield* Effect.promise(() => compress(html))
  return HttpServerResponse.uint8Array(body, {
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-encoding": "gzip",
      "cache-control": "public, max-age=3600",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer"
    }
  })
}).pipe(Effect.scoped, Effect.orDie, Effect.withSpan("Reference.make"))
