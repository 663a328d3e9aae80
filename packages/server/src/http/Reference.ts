/**
 * The interactive reference at `/reference`: Scalar over our document, served by this process with its script inlined.
 *
 * No request goes to another host: fonts come from the system, nothing is loaded from a CDN, and the page's policy forbids
 * everything else. The page is 3.3 MB of HTML, so it is made and compressed once, at the first visit. Its inline script needs a
 * looser policy than any other page here. So it runs in a sandbox with its own origin: it has no secret, and sends no request.
 */
import { HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
// By its own path: through the index its 3.3 MB would be in every program.
import * as HttpApiScalar from "@effect/platform/HttpApiScalar"
import { Api } from "@posthorn/api-contract/Api"
import { problems } from "@posthorn/api-contract/Problem"
import { Effect } from "effect"
import { staticText } from "./StaticText.ts"

/** Without Scalar's fonts, and without the buttons that lead to Scalar's cloud. */
const options = {
  withDefaultFonts: false,
  showToolbar: "never",
  showDeveloperTools: "never",
  hideClientButton: true,
  hideTestRequestButton: true,
  customCss: "a[href*='scalar.com'] { display: none !important }"
}

const scalar = HttpApiScalar.layerHttpLayerRouter({ api: Api, path: "/reference", scalar: options })

const EMBEDDED = /(<script id="api-reference" type="application\/json">)[\s\S]*?(<\/script>)/

/** Escaped for use inside a script element. */
const embedded = (document: object) =>
  JSON.stringify(document).replace(
    /[<\u2028\u2029]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/**
 * A problem's `type` is this page's address with the error's tag as fragment. This script scrolls to the heading of that name
 * under "Errors", which Scalar renders with its own ids after it has started.
 */
const anchors = `<script>
// A sandbox has no storage, and reading it raises an error that breaks the page.
const memory = () => {
  const kept = new Map()
  return {
    get length() { return kept.size },
    key: (n) => [...kept.keys()][n] ?? null,
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, String(value)),
    removeItem: (name) => void kept.delete(name),
    clear: () => kept.clear()
  }
}
for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, { value: memory() })
const tags = new Set(${JSON.stringify(Object.keys(problems))})
const headingOf = (tag) => document.querySelector('[id$="description/' + tag.toLowerCase() + '"]')
const lead = () => {
  const tag = location.hash.slice(1)
  if (!tags.has(tag)) return
  const observer = new MutationObserver(() => {
    const heading = headingOf(tag)
    if (heading === null) return
    observer.disconnect()
    // Content above it may still grow.
    for (const wait of [0, 250, 1000]) setTimeout(() => heading.scrollIntoView(), wait)
  })
  observer.observe(document, { childList: true, subtree: true })
  document.documentElement.append(document.createComment(""))
}
lead()
addEventListener("hashchange", lead)
</script>
`

/** Without an icon the browser requests /favicon.ico and logs that there is none. */
const icon = '<link rel="icon" href="/console/favicon.svg">'

const POLICY = [
  // A separate origin: scripts here have no session of the console, and cannot act in its name.
  "sandbox allow-scripts allow-popups",
  "default-src 'none'",
  "script-src 'unsafe-inline' 'unsafe-eval'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src data:",
  "worker-src blob:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'"
].join("; ")

/** The page for this document, in an encoding that the client accepts. */
export const referencePage = (document: object) =>
  Effect.gen(function* () {
    const app = yield* HttpLayerRouter.toHttpEffect(scalar)
    const request = HttpServerRequest.fromWeb(new Request("http://localhost/reference"))
    const made = yield* Effect.provideService(app, HttpServerRequest.HttpServerRequest, request)
    const generated = yield* Effect.promise(() => HttpServerResponse.toWeb(made).text())
    const html = generated.replace(EMBEDDED, (_, open, close) => `${open}${embedded(document)}${close}`)
    const withAnchors = html.replace("<script id=", () => `${anchors}<script id=`)
    const page = yield* staticText(withAnchors.replace("<head>", `<head>${icon}`), {
      contentType: "text/html; charset=utf-8",
      headers: {
        "content-security-policy": POLICY,
        "referrer-policy": "no-referrer"
      }
    })
    return page
  }).pipe(Effect.scoped, Effect.orDie, Effect.withSpan("Reference.make"))
