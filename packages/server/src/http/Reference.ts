/**
 * The interactive reference at `/reference`: Scalar, served by ourselves with its script inlined, over our document.
 *
 * No request goes to another host: fonts come from the system, nothing is loaded from a CDN, and the page's own policy
 * forbids the rest. It is 3.3 MB of HTML, so it is made and compressed once, at the first visit. It needs its script
 * inline and hence a looser policy than anything else that is served here; it holds no secret and sends no token but
 * one that is typed into it.
 */
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { HttpApiScalar, HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { Effect } from "effect"

const compress = promisify(gzip)

/** Without its maker's fonts, and without the buttons that lead to its maker's cloud. */
const options = {
  withDefaultFonts: false,
  showToolbar: "never",
  showDeveloperTools: "never",
  hideClientButton: true,
  customCss: "a[href*='scalar.com'] { display: none !important }"
}

const scalar = HttpApiScalar.layerHttpLayerRouter({ api: Api, path: "/reference", scalar: options })

const EMBEDDED = /(<script id="api-reference" type="application\/json">)[\s\S]*?(<\/script>)/

/** Safe inside a script element. */
const embedded = (document: object) =>
  JSON.stringify(document).replace(
    /[<\u2028\u2029]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

const policy = (origin: string) =>
  [
    "default-src 'none'",
    "script-src 'unsafe-inline' 'unsafe-eval'",
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src data:",
    `connect-src 'self' ${origin}`,
    "worker-src blob:",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'"
  ].join("; ")

/** Whether gzip may be sent; who says nothing gets the plain page. */
export const takesGzip = (accepted = "") => {
  const weights = new Map(
    accepted.split(",").map((each) => {
      const [name = "", weight = ""] = each.split(";")
      return [name.trim().toLowerCase(), Number(/q=([\d.]+)/i.exec(weight)?.[1] ?? 1)]
    })
  )
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0
}

/** The page over this document, made for what a client says it accepts. */
export const referencePage = (document: object, baseUrl: string) =>
  Effect.gen(function* () {
    const app = yield* HttpLayerRouter.toHttpEffect(scalar)
    const request = HttpServerRequest.fromWeb(new Request("http://localhost/reference"))
    const page = yield* Effect.provideService(app, HttpServerRequest.HttpServerRequest, request)
    const generated = yield* Effect.promise(() => HttpServerResponse.toWeb(page).text())
    const html = generated.replace(EMBEDDED, (_, open, close) => `${open}${embedded(document)}${close}`)
    const plain = Buffer.from(html)
    const zipped = yield* Effect.promise(() => compress(plain))
    const respond = (body: Uint8Array, encoding: Readonly<Record<string, string>>) =>
      HttpServerResponse.uint8Array(body, {
        contentType: "text/html; charset=utf-8",
        headers: {
          ...encoding,
          vary: "accept-encoding",
          "content-security-policy": policy(new URL(baseUrl).origin),
          "cache-control": "public, max-age=3600",
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer"
        }
      })
    const compressed = respond(zipped, { "content-encoding": "gzip" })
    const uncompressed = respond(plain, {})
    return (accepted: string | undefined) => (takesGzip(accepted) ? compressed : uncompressed)
  }).pipe(Effect.scoped, Effect.orDie, Effect.withSpan("Reference.make"))
