/**
 * Turns the first bytes of a response body into text that can be stored.
 *
 * Guarantees: well-formed Unicode, no NUL (PostgreSQL refuses it), and at most `limit` bytes once encoded, so that
 * 2,048 bytes of 0xFF, each becoming the three bytes of U+FFFD, are cut to 2,046. A character that the limit would split is
 * left out. A byte order mark stays; a content coding is not decoded.
 *
 * Source: spec §2.3 and §3.4 ("Requests").
 */
import { isUtf8 } from "node:buffer"
import { StringDecoder } from "node:string_decoder"

/** Most bytes of an answer's body that are kept. */
export const BODY_LIMIT_BYTES = 2_048

export const storedBody = (chunks: ReadonlyArray<Buffer>, limit: number): string => {
  if (chunks.length === 0) return ""
  const received = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  const bytes = received.length > limit ? received.subarray(0, limit) : received
  if (isUtf8(bytes) && !bytes.includes(0)) return bytes.toString("utf8")
  const text = received.length >= limit ? withoutTornEnd(bytes) : bytes.toString("utf8")
  return within(limit, text.replaceAll("\0", "\uFFFD"))
}

/** Cut to `limit` bytes, without a torn character. */
export const within = (limit: number, text: string): string => {
  const bytes = Buffer.from(text)
  return bytes.length <= limit ? text : withoutTornEnd(bytes.subarray(0, limit))
}

/** In streaming mode the decoder does not output an unfinished character. */
const withoutTornEnd = (bytes: Buffer): string => new StringDecoder("utf8").write(bytes)
