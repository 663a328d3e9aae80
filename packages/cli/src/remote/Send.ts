/** `posthorn send`: publishes an event, with the exact text of its payload. */
import { readFileSync } from "node:fs"
import { buffer } from "node:stream/consumers"
import { Effect, Option } from "effect"
import { misused } from "../command/CommandFailed.ts"
import { withoutMark } from "./JsonInput.ts"
import { print } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

export interface Send {
  readonly type: string
  readonly payload: Option.Option<string>
  readonly file: Option.Option<string>
  readonly key: Option.Option<string>
  readonly endpoints: ReadonlyArray<string>
  readonly once: boolean
  readonly json: boolean
}

const payloadOf = ({ file, payload }: Send) => {
  if (Option.isSome(file) && Option.isSome(payload))
    return misused("Give the payload as an argument or with --file, not both")
  if (Option.isSome(file))
    return Effect.try({
      try: () => withoutMark(readFileSync(file.value, "utf8")),
      catch: (error) => error as NodeJS.ErrnoException
    }).pipe(Effect.catchAll(({ code }) => misused(`${file.value} cannot be read (${code})`)))
  if (Option.isNone(payload))
    return misused("What is the payload? Give it as JSON, with --file F, or - for standard input")
  return payload.value === "-"
    ? Effect.promise(async () => withoutMark((await buffer(process.stdin)).toString("utf8")))
    : Effect.succeed(payload.value)
}

const checked = (text: string) =>
  Effect.try({ try: () => void JSON.parse(text), catch: (error) => String((error as Error).message) }).pipe(
    Effect.as(text.trim()),
    Effect.catchAll((why) => misused(`The payload is no JSON: ${why}`))
  )

interface Published {
  readonly id: string
  readonly deliveryIds: ReadonlyArray<string>
  readonly duplicate: boolean
}

const shown = ({ deliveryIds, duplicate, id }: Published) =>
  [
    `${id}  ${duplicate ? "was published before under this key" : deliveryIds.length === 0 ? "no enabled endpoint wants it" : ""}`.trimEnd(),
    ...deliveryIds.map((deliveryId) => `  ${deliveryId}`)
  ].join("\n")

export const send = (given: Send) =>
  Effect.gen(function* () {
    const payload = yield* Effect.flatMap(payloadOf(given), checked)
    const { sendText, slug } = yield* Posthorn
    const choices = JSON.stringify({
      eventType: given.type,
      idempotencyKey: Option.getOrUndefined(given.key),
      endpointIds: given.endpoints.length === 0 ? undefined : given.endpoints,
      retry: given.once ? false : undefined
    })
    const text = yield* sendText(
      "POST",
      `/workspaces/${encodeURIComponent(slug)}/events`,
      `${choices.slice(0, -1)},"payload":${payload}}`
    )
    yield* print(given.json, text, () => shown(JSON.parse(text) as Published))
  })
