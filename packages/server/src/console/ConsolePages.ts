/**
 * The pages under `/console`: the application, its files, and the logo.
 *
 * Only `/console/embed` may stand in a frame, of the origins that its query names. There the application reads no cookie and
 * keeps its session in memory, opened by a link that names the same origins: a frame of another page has nothing to show.
 *
 * A path that names no file is a page of the application: it gets `index.html`, so that links into it work. The content
 * security policy allows only this server's files and nothing inline, so a receiver's answer that is shown there stays text.
 */
import { HttpApiBuilder, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { isEmbeddingOrigin, MOST_ORIGINS, originsOf } from "@posthorn/domain/ConsoleView"
import { RouteNotFound } from "@posthorn/domain/Errors"
import { Effect } from "effect"
import { encodingFor } from "../http/StaticText.ts"
import { type BuiltFile, readBuiltConsole } from "./BuiltConsole.ts"
import { ConsoleConfig } from "./ConsoleConfig.ts"

const policyIn = (ancestors: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${ancestors}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'"
  ].join("; ")

const SAFE = {
  "content-security-policy": policyIn("'none'"),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
  "permissions-policy": "camera=(), geolocation=(), microphone=()"
}

/** The headers of the embedded page; undefined unless each origin is one that may be named. */
const embeddedIn = (query: string) => {
  const origins = originsOf(new URLSearchParams(query).get("in"))
  const { "x-frame-options": _, ...safe } = SAFE
  return origins.length > 0 && origins.length <= MOST_ORIGINS && origins.every(isEmbeddingOrigin)
    ? {
        ...safe,
        "content-security-policy": policyIn(origins.join(" ")),
        // A page that embeds only what allows it (`Cross-Origin-Embedder-Policy`) may embed this.
        "cross-origin-resource-policy": "cross-origin",
        "cross-origin-embedder-policy": "require-corp"
      }
    : undefined
}

const FOR_EVER = "public, max-age=31536000, immutable"

const BUILDING = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Posthorn</title>
<p>The console is being built. It appears here by itself, in a few seconds.</p></html>`

/** Shown while `npm start` is still building the application. It reloads until then, and keeps the link's fragment. */
const building = (safe: object) =>
  HttpServerResponse.text(BUILDING, {
    status: 503,
    contentType: "text/html; charset=utf-8",
    headers: { ...safe, refresh: "1", "retry-after": "1", "cache-control": "no-store" }
  })

const fileResponse = (file: BuiltFile, accepted: string, cacheControl: string, safe: object = SAFE) => {
  const encoding = encodingFor(accepted)
  const compressed = encoding === "identity" ? undefined : file[encoding]
  const headers = { ...safe, "cache-control": cacheControl, vary: "accept-encoding" }
  return HttpServerResponse.uint8Array(compressed ?? file.plain, {
    contentType: file.contentType,
    headers: compressed === undefined ? headers : { ...headers, "content-encoding": encoding }
  })
}

export const consolePagesLive = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { folder, logo } = yield* ConsoleConfig
    const current = readBuiltConsole(folder)

    const logoResponse =
      logo === null
        ? undefined
        : HttpServerResponse.uint8Array(logo.bytes, {
            contentType: logo.contentType,
            headers: {
              ...SAFE,
              "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
              "cache-control": "no-cache"
            }
          })

    /** A file, or the application; undefined for a missing file. */
    const page = (name: string, query: string, accepted: string) => {
      if (name === "logo" && logoResponse !== undefined) return logoResponse
      const files = folder === null ? undefined : current()
      const safe = name === "embed" ? embeddedIn(query) : SAFE
      if (safe === undefined) return undefined
      if (files === undefined) return folder === null ? undefined : building(safe)
      const file = files.get(name)
      if (name !== "index.html" && file !== undefined)
        return fileResponse(file, accepted, name.startsWith("assets/") ? FOR_EVER : "no-cache")
      return name.startsWith("assets/") || name.startsWith("api/")
        ? undefined
        : fileResponse(files.get("index.html")!, accepted, "no-cache", safe)
    }

    const find = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, url }) => {
      const [pathname = "", query = ""] = url.split("?", 2)
      if (pathname === "/console") return Effect.succeed(HttpServerResponse.redirect("/console/"))
      const found = page(pathname.slice("/console/".length), query, headers["accept-encoding"] ?? "")
      return found === undefined ? Effect.fail(new RouteNotFound()) : Effect.succeed(found)
    })

    yield* router.get("/console", find)
    yield* router.get("/console/*", find)
  })
)
