/**
 * Reads a request body: at most 1 MiB, as UTF-8 that is really UTF-8.
 *
 * The bytes are counted as they come, so a body without a length, or with a wrong one, is stopped at the limit too. A
 * body that takes longer than its deadline is given up: 408, and not the 503 of a server that is slow itself.
 * Source: decision §2.
 */
import type { IncomingMessage } from "node:http"
import { later } from "@posthorn/domain/AtOnce"
import { type InvalidRequest, invalid, PayloadTooLarge, RequestTimeout } from "@posthorn/domain/Errors"
import { type Effect, Exit } from "effect"
import type { Exchange } from "./Exchange.ts"

export const BODY_LIMIT = 1_048_576

const JSON_TYPE = /^application\/json\s*(;|$)/i
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i

/** Whether a body is JSON as it can be read here: UTF-8, and not compressed. */
export const isJson = (headers: Readonly<Record<string, unknown>>) => {
  const type = String(headers["content-type"] ?? "")
  const charset = CHARSET.exec(type)?.[1] ?? "utf-8"
  const encoding = String(headers["content-encoding"] ?? "identity")
  return JSON_TYPE.test(type) && /^utf-?8$/i.test(charset) && /^(identity)?$/i.test(encoding)
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })

const decode = (chunks: ReadonlyArray<Buffer>) => {
  try {
    return Exit.succeed(utf8.decode(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
  } catch {
    return Exit.fail(invalid("", "The body is not valid UTF-8"))
  }
}

const tooLarge = () => Exit.fail(new PayloadTooLarge({ limitBytes: BODY_LIMIT }))

export const declaresTooMuch = (message: IncomingMessage) =>
  Number(message.headers["content-length"] ?? 0) > BODY_LIMIT

/** The text of the body; empty when there is none. */
export const readBody = (
  exchange: Exchange,
  deadlineMs: number
): Effect.Effect<string, InvalidRequest | PayloadTooLarge | RequestTimeout> => {
  const message = exchange.source
  if (declaresTooMuch(message)) return tooLarge()
  return later<string, InvalidRequest | PayloadTooLarge | RequestTimeout>((settle) => {
    const chunks: Array<Buffer> = []
    let size = 0
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size <= BODY_LIMIT) return void chunks.push(chunk)
      message.pause()
      stop(tooLarge())
    }
    const resume: typeof settle = (outcome) => {
      if (!exchange.isArriving) return
      clearTimeout(timer)
      exchange.isArriving = false
      exchange.arrived()
      settle(outcome)
    }
    const stop: typeof settle = (outcome) => {
      message.off("data", take)
      resume(outcome)
    }
    const timer = setTimeout(() => stop(Exit.fail(new RequestTimeout())), deadlineMs)
    exchange.isArriving = true
    message.on("data", take)
    message.on("end", () => resume(decode(chunks)))
    message.on("error", () => stop(Exit.fail(invalid("", "The body was cut short"))))
    return () => clearTimeout(timer)
  })
}
