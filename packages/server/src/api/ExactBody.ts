/**
 * Decodes bodies with a payload by the contract's schema, and keeps the payload byte for byte as the text that was sent. For
 * `handleRaw` only; the library decodes all other bodies.
 */
import { HttpApiError, type HttpServerRequest } from "@effect/platform"
import { type InvalidRequest, invalid } from "@posthorn/domain/Errors"
import { rawProblem } from "@posthorn/domain/JsonText"
import { Effect, Either, Schema } from "effect"
import { parseBody } from "../http/Admission.ts"
import { type OperationName, operationNamed } from "./Responses.ts"

export const exactBody = <A, I>(name: OperationName, schema: Schema.Schema<A, I>) => {
  const { optionalBody = false, raw = [] } = operationNamed(name).rules
  const decode = Schema.decodeUnknownEither(schema)
  const read = (text: string): Effect.Effect<A, HttpApiError.HttpApiDecodeError | InvalidRequest> => {
    const parsed = optionalBody && text.trim() === "" ? Either.right({}) : parseBody(text, raw)
    if (Either.isLeft(parsed)) return Effect.fail(parsed.left)
    const body = decode(parsed.right)
    if (Either.isLeft(body)) return HttpApiError.HttpApiDecodeError.refailParseError(body.left)
    // Last, because it is the most expensive step: a payload of 1 MiB takes up to 80 ms.
    const wrong = rawProblem(parsed.right, raw)
    return wrong === undefined ? Effect.succeed(body.right) : Effect.fail(invalid(wrong.path, wrong.message))
  }
  return ({ text }: HttpServerRequest.HttpServerRequest) => Effect.flatMap(Effect.orDie(text), read)
}
