/**
 * A page that does not change while the server runs: compressed once, and not sent again to clients that have it.
 *
 * It is sent as brotli or gzip to clients that accept it. Each encoding has its own `ETag`, a hash of the text; a request with
 * a matching `If-None-Match` is answered 304.
 */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"

interface StaticTextOptions {
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
}

/** Of 11 levels. Level 11 takes ten seconds instead of a tenth, for a result that is 5 % smaller. */
const BROTLI_QUALITY = 6

const brotli = (bytes: Buffer) =>
  promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } })

/** The quality value of each encoding, by name. */
const weightsOf = (accepted: string) =>
  new Map(
    accepted.split(",").map((each) => {
      const [name = "", weight = ""] = each.split(";")
      return [name.trim().toLowerCase(), Number(/q=([\d.]+)/i.exec(weight)?.[1] ?? 1)]
    })
  )

/** The smallest encoding that a client accepts; without `Accept-Encoding`, plain text. */
export const encodingFor = (accepted = ""): "br" | "gzip" | "identity" => {
  const weights = weightsOf(accepted)
  const takes = (name: string) => (weights.get(name) ?? weights.get("*") ?? 0) > 0
  return takes("br") ? "br" : takes("gzip") ? "gzip" : "identity"
}

const hasTag = (ifNoneMatch: string | undefined, tag: string) =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === "*" ||
    ifNoneMatch.split(",").some((each) => each.trim().replace(/^W\//, "") === tag))

/** Answers GET and HEAD for this text; compresses it at the first request. */
export const staticText = (text: string, { contentType, headers }: StaticTextOptions) =>
  Effect.gen(function* () {
    const plain = Buffer.from(text)
    const hash = createHash("sha256").update(plain).digest("base64url").slice(0, 22)
    const compressed = yield* Effect.cached(
      Effect.promise(async () => ({
        identity: plain,
        gzip: await promisify(gzip)(plain),
        br: await brotli(plain)
      }))
    )
    return Effect.gen(function* () {
      const { headers: asked } = yield* HttpServerRequest.HttpServerRequest
      const encoding = encodingFor(asked["accept-encoding"])
      const etag = encoding === "identity" ? `"${hash}"` : `"${hash}-${encoding}"`
      const all = { "cache-control": "no-cache", ...headers, etag, vary: "accept-encoding" }
      if (hasTag(asked["if-none-match"], etag)) return HttpServerResponse.empty({ status: 304, headers: all })
      const body = (yield* compressed)[encoding]
      return HttpServerResponse.uint8Array(body, {
        contentType,
        headers: encoding === "identity" ? all : { ...all, "content-encoding": encoding }
      })
    })
  })
