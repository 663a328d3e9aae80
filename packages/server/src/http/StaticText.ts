/**
 * A page that never changes while the server runs: compressed once, and not sent again to who has it.
 *
 * Sent as brotli or gzip to who takes it; its `ETag` is a hash of the text, one for each encoding, and a request whose
 * `If-None-Match` has it is answered 304.
 */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"

export interface StaticTextOptions {
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
}

/** Of 11: in a tenth of a second what the last steps take ten for, and 5 % larger. */
const BROTLI_QUALITY = 6

const brotli = (bytes: Buffer) =>
  promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } })

/** How much each encoding is wanted, by name. */
const weightsOf = (accepted: string) =>
  new Map(
    accepted.split(",").map((each) => {
      const [name = "", weight = ""] = each.split(";")
      return [name.trim().toLowerCase(), Number(/q=([\d.]+)/i.exec(weight)?.[1] ?? 1)]
    })
  )

/** The smallest of the encodings that a client takes; who says nothing gets the plain text. */
export const encodingFor = (accepted = ""): "br" | "gzip" | "identity" => {
  const weights = weightsOf(accepted)
  const takes = (name: string) => (weights.get(name) ?? weights.get("*") ?? 0) > 0
  return takes("br") ? "br" : takes("gzip") ? "gzip" : "identity"
}

const hasTag = (ifNoneMatch: string | undefined, tag: string) =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === "*" ||
    ifNoneMatch.split(",").some((each) => each.trim().replace(/^W\//, "") === tag))

/** Answers GET and HEAD for this text; compresses it when it is first asked for. */
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
