/**
 * The pages under `/console`: the application, its files, and the logo.
 *
 * A path that names no file is a page of the application: it gets `index.html`, so that links into it work. The content
 * security policy allows only this server's files and nothing inline, so a receiver's answer that is shown there stays text.
 */
import { HttpApiBuilder, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { RouteNotFound } from "@posthorn/domain/Errors"
import { Effect } from "effect"
import { encodingFor } from "../http/StaticText.ts"
import { type BuiltFile, readBuiltConsole } from "./BuiltConsole.ts"
import { ConsoleConfig } from "./ConsoleConfig.ts"

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const SAFE = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
  "permissions-policy": "camera=(), geolocation=(), microphone=()"
}

const FOR_EVER = "public, max-age=31536000, immutable"

const BUILDING = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Posthorn</title>
<p>The console is being built. It appears here by itself, in a few seconds.</p></html>`

/** Shown while `npm start` is still building the application. It reloads until then, and keeps the link's fragment. */
const building = HttpServerResponse.text(BUILDING, {
  status: 503,
  contentType: "text/html; charset=utf-8",
  headers: { ...SAFE, refresh: "1", "retry-after": "1", "cache-control": "no-store" }
})

const fileResponse = (file: BuiltFile, accepted: string, cacheControl: string) => {
  const encoding = encodingFor(accepted)
  const compressed = encoding === "identity" ? undefined : file[encoding]
  const headers = { ...SAFE, "cache-control": cacheControl, vary: "accept-encoding" }
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
    const page = (name: string, accepted: string) => {
      if (name === "logo" && logoResponse !== undefined) return logoResponse
      const files = folder === null ? undefined : current()
      if (files === undefined) return folder === null ? undefined : building
      const file = files.get(name)
      if (name !== "index.html" && file !== undefined)
        return fileResponse(file, accepted, name.startsWith("assets/") ? FOR_EVER : "no-cache")
      return name.startsWith("assets/") || name.startsWith("api/")
        ? undefined
        : fileResponse(files.get("index.html")!, accepted, "no-cache")
    }

    const find = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, url }) => {
      const [pathname = ""] = url.split("?", 1)
      if (pathname === "/console") return Effect.succeed(HttpServerResponse.redirect("/console/"))
      const found = page(pathname.slice("/console/".length), headers["accept-encoding"] ?? "")
      return found === undefined ? Effect.fail(new RouteNotFound()) : Effect.succeed(found)
    })

    yield* router.get("/console", find)
    yield* router.get("/console/*", find)
  })
)
