/**
 * MCP between a pair of pipes and POST /mcp.
 *
 * A proxy of lines: each message is sent to POST /mcp unchanged, and its answer is written unchanged except for line breaks, so
 * payloads stay exact. Requests run concurrently, and answers are written in the order in which they arrive;
 * `notifications/cancelled` aborts the request it names. A refusal at the server's gate, or an unreachable server, becomes a
 * JSON-RPC error of its request. Only messages are written to the output. It ends when the input ends and all requests are
 * answered. Source: spec §4.7.
 */
import type { Readable, Writable } from "node:stream"
import { type JsonText, parseJson, stringify } from "@posthorn/domain/JsonText"
import { Either, Redacted } from "effect"
import { VERSION } from "../Version.ts"

interface Upstream {
  readonly url: string
  readonly token: Redacted.Redacted
}

interface Pipes {
  readonly input: Readable
  readonly output: Writable
  readonly complain: (line: string) => void
}

const GATE_REFUSED = -32_000
const UNREACHABLE = -32_001

interface Message {
  readonly id?: JsonText
  readonly method?: unknown
  readonly params?: {
    readonly requestId?: unknown
    readonly name?: unknown
    readonly uri?: unknown
    readonly _meta?: Readonly<Record<string, unknown>>
  }
}

/** The messages of a line, with ids as spelled; none if it is not JSON, which the server will report. */
const messagesOf = (line: string): ReadonlyArray<Message> =>
  Either.match(
    parseJson(line, [["id"], ["*", "id"]], { rawDepth: 100_000, values: Number.POSITIVE_INFINITY }),
    {
      onLeft: () => [],
      onRight: (parsed) =>
        (Array.isArray(parsed) ? parsed : [parsed]).filter(
          (each) => typeof each === "object" && each !== null
        )
    }
  )

const errorLine = (messages: ReadonlyArray<Message>, isBatch: boolean, error: object) => {
  const answers = messages
    .filter(({ id, method }) => id !== undefined && method !== undefined)
    .map(({ id }) => ({ jsonrpc: "2.0", id, error }))
  if (answers.length === 0) return undefined
  return stringify(isBatch ? answers : answers[0])
}

/** JSON text on one line: line breaks between its tokens are mere white space. */
const onOneLine = (json: string) => json.replace(/[\r\n]+/g, " ")

/** The gate's refusal, as an error for the request. */
const refusal = (status: number, body: string) => {
  const problem = Either.getOrUndefined(Either.try(() => JSON.parse(body) as { readonly detail?: unknown }))
  const said = typeof problem?.detail === "string" ? problem.detail : `The server answered ${status}.`
  // The header that REST speaks of is set from the environment here.
  const detail =
    status === 401 ? "POSTHORN_TOKEN is no valid API token: it may have expired or been revoked." : said
  return { code: GATE_REFUSED, message: detail, ...(problem === undefined ? {} : { data: problem }) }
}

const PLAIN = /^(?!=\?base64\?)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

const headerOf = (value: string) =>
  PLAIN.test(value) ? value : `=?base64?${Buffer.from(value).toString("base64")}?=`

/** Headers that revision 2026-07-28 requires over HTTP, made from the message's `_meta`, which older messages do not have. */
const repeatedOf = ([message]: ReadonlyArray<Message>): Record<string, string> => {
  const { _meta, name, uri } = message?.params ?? {}
  const version = _meta?.["io.modelcontextprotocol/protocolVersion"]
  if (typeof version !== "string" || typeof message?.method !== "string") return {}
  const named = name ?? uri
  return {
    "mcp-protocol-version": headerOf(version),
    "mcp-method": headerOf(message.method),
    ...(typeof named === "string" ? { "mcp-name": headerOf(named) } : {})
  }
}

const send = (upstream: Upstream, line: string, messages: ReadonlyArray<Message>, signal: AbortSignal) =>
  fetch(`${upstream.url}/mcp`, {
    method: "POST",
    signal,
    redirect: "error",
    body: line,
    headers: {
      authorization: `Bearer ${Redacted.value(upstream.token)}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "user-agent": `posthorn-mcp/${VERSION}`,
      ...repeatedOf(messages)
    }
  })

/** Why a request failed: fetch hides the reason in its cause. */
const reasonOf = (error: unknown) => {
  const { cause, message } = error as {
    readonly cause?: { readonly code?: string }
    readonly message?: string
  }
  return cause?.code ?? message ?? "unknown"
}

/** The answer to one line; undefined if it gets none. */
const answerTo = async (
  upstream: Upstream,
  line: string,
  messages: ReadonlyArray<Message>,
  signal: AbortSignal,
  pipes: Pipes
) => {
  const failed = (error: { readonly code: number; readonly message: string }) => {
    const answer = errorLine(messages, line.startsWith("["), error)
    if (answer === undefined) pipes.complain(`posthorn mcp: ${error.message}`)
    return answer
  }
  try {
    const response = await send(upstream, line, messages, signal)
    const body = await response.text()
    if (response.status === 202 || body === "") return undefined
    const isMessage = /^application\/json\b/.test(response.headers.get("content-type") ?? "")
    return isMessage ? onOneLine(body) : failed(refusal(response.status, body))
  } catch (error) {
    if (signal.aborted) return undefined
    return failed({
      code: UNREACHABLE,
      message: `${upstream.url} cannot be reached (${reasonOf(error)}): check POSTHORN_URL, and that the server runs.`
    })
  }
}

/** Lines end with a line feed; no other character ends one, as JSON strings may hold U+2028. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of input) {
    const parts = (rest + decoder.decode(chunk as Buffer, { stream: true })).split("\n")
    rest = parts.pop()!
    yield* parts
  }
  yield rest
}

/** Carries messages both ways until the input ends. */
export const proxy = async (upstream: Upstream, pipes: Pipes): Promise<void> => {
  const underWay = new Map<string, AbortController>()
  const pending = new Set<Promise<void>>()
  const cancel = (messages: ReadonlyArray<Message>) => {
    for (const { method, params } of messages) {
      if (method === "notifications/cancelled") underWay.get(JSON.stringify(params?.requestId))?.abort()
    }
  }
  const carry = async (line: string) => {
    const controller = new AbortController()
    const messages = messagesOf(line)
    const ids = messages.flatMap(({ id, method }) =>
      id === undefined || method === undefined ? [] : [id.text]
    )
    cancel(messages)
    for (const id of ids) underWay.set(id, controller)
    const answer = await answerTo(upstream, line, messages, controller.signal, pipes)
    for (const id of ids) underWay.delete(id)
    if (answer !== undefined) pipes.output.write(`${answer}\n`)
  }
  for await (const line of linesOf(pipes.input)) {
    if (line.trim() === "") continue
    const carried: Promise<void> = carry(line.trim()).finally(() => pending.delete(carried))
    pending.add(carried)
  }
  await Promise.all(pending)
}
