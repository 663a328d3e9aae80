/**
 * A client of Posthorn's REST API for every runtime that has `fetch`: `new Posthorn({ url, token, workspace })`.
 *
 * Each operation is a method with one flat object; a list is an async iterable that asks for its pages as they are needed. What is
 * refused with 429 or 503 is tried again after its `Retry-After`; what got no answer is tried again where that cannot do anything
 * twice: reads, and calls with an idempotency key. A call that takes a key and was given none gets one of its own, so that a publish
 * whose answer was lost happens once. It does not cache, and holds nothing between two calls.
 */
import type { CallOptions } from "./Call.ts"
import { type ErrorTag, type Operations, operations } from "./generated.ts"

export interface PosthornOptions {
  /** Where Posthorn is, such as `https://posthorn.example.net`. */
  readonly url: string
  readonly token: string
  /** The slug that operations take where they name none. */
  readonly workspace?: string
  /** How often a call is tried again; 0 for never. Default 3. */
  readonly retries?: number
  /** The longest `Retry-After`, in milliseconds, that is waited for. Default 10,000. */
  readonly maxWait?: number
  /** Milliseconds for one try. Default 30,000. */
  readonly timeout?: number
  /** In place of the runtime's own. */
  readonly fetch?: typeof fetch
}

/** What Posthorn answered in place of what was asked for, or why there is no answer. */
export class PosthornError extends Error {
  override readonly name = "PosthornError"
  /** `NoAnswer`: the connection failed, or the time was over. `UnknownAnswer`: somebody else answered, such as a proxy. */
  readonly tag: ErrorTag | "NoAnswer" | "UnknownAnswer"
  /** Of HTTP; 0 without an answer. */
  readonly status: number
  readonly detail: string
  /** All that the problem says, such as `issues`, `traceId` or `retryAfterSeconds`. */
  readonly facts: Readonly<Record<string, unknown>>

  constructor(
    tag: PosthornError["tag"],
    status: number,
    detail: string,
    facts: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions
  ) {
    super(`${tag}: ${detail}`, options)
    this.tag = tag
    this.status = status
    this.detail = detail
    this.facts = facts
  }
}

type Params = Readonly<Record<string, unknown>>
type Operation = (typeof operations)[keyof typeof operations]

// The methods are made from the generated table.
export interface Posthorn extends Operations {}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor makes every method of the interface.
export class Posthorn {
  constructor(options: PosthornOptions) {
    if (!URL.canParse(options.url)) throw new TypeError(`Not a URL: ${options.url}`)
    const base = options.url.replace(/\/+$/, "")
    const methods = Object.entries(operations).map(([name, operation]) => [
      name,
      (params: Params = {}, call: CallOptions = {}) => {
        const given = { ...params, workspace: params.workspace ?? options.workspace }
        return operation[5]
          ? itemsOf((cursor) => send(base, options, operation, cursor ? { ...given, cursor } : given, call))
          : send(base, options, operation, given, call)
      }
    ])
    Object.assign(this, Object.fromEntries(methods))
  }
}

interface Page {
  readonly items: ReadonlyArray<unknown>
  readonly nextCursor: string | null
}

const itemsOf = async function* (page: (cursor: string | null) => Promise<unknown>) {
  let cursor: string | null = null
  do {
    const { items, nextCursor } = (await page(cursor)) as Page
    yield* items
    cursor = nextCursor
  } while (cursor !== null)
}

const send = async (
  base: string,
  options: PosthornOptions,
  operation: Operation,
  params: Params,
  call: CallOptions
): Promise<unknown> => {
  const { maxWait = 10_000, retries = 3 } = options
  const { init, isSafe, url } = requestOf(base, options, operation, params)
  for (let tries = 0; ; tries++) {
    const left = tries < retries
    const answer = await attempt(options, url, init, call.signal).catch((cause: unknown) => {
      if (call.signal?.aborted) throw call.signal.reason
      if (!(left && isSafe)) throw new PosthornError("NoAnswer", 0, reasonOf(cause), {}, { cause })
    })
    let wait = Math.min(250 * 2 ** tries, maxWait)
    if (answer !== undefined) {
      call.onAnswer?.(answer.head)
      if (answer.head.ok) return valueOf(answer.head, answer.text)
      const problem = problemOf(answer.head, answer.text)
      const isPassing = problem.status === 429 || problem.status === 503
      const after = problem.facts.retryAfterSeconds
      if (typeof after === "number") wait = after * 1000
      if (!left || !isPassing || wait > maxWait) throw problem
    }
    await pause(wait, call.signal)
  }
}

/** The answer, and its text: a connection may still break while it is read. */
const attempt = async (options: PosthornOptions, url: string, init: RequestInit, given?: AbortSignal) => {
  const timeout = AbortSignal.timeout(options.timeout ?? 30_000)
  const signal = given === undefined ? timeout : AbortSignal.any([given, timeout])
  const head = await (options.fetch ?? fetch)(url, { ...init, signal })
  return { head, text: await head.text() }
}

const valueOf = (head: Response, text: string): unknown => {
  if (text === "") return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new PosthornError("UnknownAnswer", head.status, text.slice(0, 200), {}, { cause })
  }
}

const problemOf = (answer: Response, text: string): PosthornError => {
  const after = answer.headers.get("retry-after") ?? ""
  const waited = /^\d+$/.test(after) ? { retryAfterSeconds: Number(after) } : {}
  try {
    const { _tag, detail, status: _, ...facts } = JSON.parse(text)
    if (typeof _tag === "string")
      return new PosthornError(_tag as ErrorTag, answer.status, String(detail), { ...waited, ...facts })
  } catch {
    // Not a problem of ours.
  }
  return new PosthornError("UnknownAnswer", answer.status, text.slice(0, 200) || answer.statusText, waited)
}

const requestOf = (
  base: string,
  options: PosthornOptions,
  [method, template, query, headers, hasBody]: Operation,
  params: Params
) => {
  const body: Record<string, unknown> = { ...params }
  const take = (name: string) => {
    const value = body[name]
    delete body[name]
    return value
  }
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(take(name) ?? "")
    // These would lead to another operation.
    if (["", ".", ".."].includes(value)) throw new TypeError(`${name} is missing`)
    return encodeURIComponent(value)
  })
  if (!template.includes("{workspace}")) delete body.workspace
  const url = new URL(base + path)
  for (const name of query) {
    const value = take(name)
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value))
  }
  // A publish has its key in the body; every other call in a header.
  const isPublish = template.endsWith("/events") && method === "POST"
  const takesKey = isPublish || (headers as ReadonlyArray<string>).includes("idempotencyKey")
  if (takesKey && options.retries !== 0) body.idempotencyKey ??= crypto.randomUUID()
  const sent = new Headers({ authorization: `Bearer ${options.token}`, accept: "application/json" })
  for (const name of headers) {
    const value = take(name)
    if (value !== undefined && value !== null)
      sent.set(
        name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
        String(value)
      )
  }
  const init: RequestInit = { method, headers: sent, redirect: "manual" }
  if (hasBody === 2 || (hasBody === 1 && Object.keys(body).length > 0)) {
    sent.set("content-type", "application/json")
    init.body = JSON.stringify(body)
  }
  return { url: url.href, init, isSafe: method === "GET" || (takesKey && options.retries !== 0) }
}

const reasonOf = (cause: unknown): string =>
  cause instanceof Error
    ? cause.cause instanceof Error
      ? `${cause.message}: ${cause.cause.message}`
      : cause.message
    : String(cause)

const pause = (milliseconds: number, signal: AbortSignal | undefined) =>
  new Promise<void>((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end)
      resolve()
    }, milliseconds)
    signal?.addEventListener("abort", end, { once: true })
  })
