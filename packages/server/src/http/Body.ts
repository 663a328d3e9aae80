/**
 * Reads a request body: at most 1 MiB, as UTF-8 that is really UTF-8.
 *
 * The bytes are counted as they come, so a body without a length, or with a wrong one, is stopped at the limit too.
 * Source: decision §2.
 */
import type { IncomingMessage } from "node:http"
import type { HttpServerRequest } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { type InvalidRequest, invalid, PayloadTooLarge } from "@posthorn/domain/Errors"
import { Effect } from "effect"

export const BODY_LIMIT = 1_048_576

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })

const decode = (chunks: ReadonlyArray<Buffer>) => {
  try {
    return Effect.succeed(utf8.decode(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
  } catch {
    return Effect.fail(invalid("", "The body is not valid UTF-8"))
  }
}

const tooLarge = () => Effect.fail(new PayloadTooLarge({ limitBytes: BODY_LIMIT }))

export const declaresTooMuch = (message: IncomingMessage) =>
  Number(message.headers["content-length"] ?? 0) > BODY_LIMIT

/** The text of the body; empty when there is none. */
export const readMessage = (
  message: IncomingMessage
): Effect.Effect<string, InvalidRequest | PayloadTooLarge> => {
  if (declaresTooMuch(message)) return tooLarge()
  return Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    message.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > BODY_LIMIT) {
        message.removeAllListeners("data").pause()
        return resume(tooLarge())
      }
      chunks.push(chunk)
    })
    message.once("end", () => resume(decode(chunks)))
    message.once("error", () => resume(Effect.fail(invalid("", "The body was cut short"))))
  })
}

export const readBody = (request: HttpServerRequest.HttpServerRequest) =>
  readMessage(NodeHttpServerRequest.toIncomingMessage(request))
