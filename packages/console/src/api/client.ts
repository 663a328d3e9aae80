/**
 * Calls operations under `/console/api`. The browser sends the cookie, which this code cannot read. In a frame of another page
 * there is none: the session's secret is held here, and sent as a header.
 *
 * It does not use the Effect client: that takes 77 KiB compressed, of the 220 for the first page, to decode what is plain JSON.
 * Method, path and types still come from the contract (ADR 0020).
 */
import { isEmbedded } from "../session/embedding.ts"
import type { Answer, OperationName, Request } from "./contract.ts"
import { operations } from "./operations.ts"

/** A refusal, or no answer at all (`status` 0). */
export class Problem extends Error {
  readonly tag: string
  readonly status: number
  readonly facts: Readonly<Record<string, unknown>>

  constructor(tag: string, status: number, detail: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(detail)
    this.tag = tag
    this.status = status
    this.facts = facts
  }
}

const AWAY = "The server does not answer. This page tries again by itself; what you see may be old."

const pathOf = (template: string, values: Readonly<Record<string, unknown>>) =>
  template.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values[name] ?? "-")))

const searchOf = (query: Readonly<Record<string, unknown>> = {}) => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(name, String(value))
  const text = search.toString()
  return text === "" ? "" : `?${text}`
}

const problemOf = async (response: Response) => {
  try {
    const { _tag, detail, ...facts } = await response.json()
    return new Problem(String(_tag), response.status, String(detail), facts)
  } catch {
    return new Problem(
      "Unreadable",
      response.status,
      `The server answered ${response.status} without saying why.`
    )
  }
}

let held: Readonly<Record<string, string>> = {}

/** From now on calls are those of this session. What it returns goes back to the one before. */
export const holdSession = (slug: string, secret: string) => {
  const before = held
  held = { "x-console": slug, "x-console-session": secret }
  return () => {
    held = before
  }
}

export const send = async (path: string, init: RequestInit): Promise<Response> => {
  const response = await fetch(path, {
    credentials: isEmbedded ? "omit" : "same-origin",
    redirect: "error",
    ...init,
    headers: { ...held, ...(init.headers as Record<string, string>) }
  }).catch((error) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error
    throw new Problem("Unreachable", 0, AWAY)
  })
  if (!response.ok) throw await problemOf(response)
  return response
}

/** The answer's text, for showing a payload as it was written. */
export const callText = async <N extends OperationName>(
  slug: string,
  name: N,
  request: Request<N>,
  signal?: AbortSignal
): Promise<string> => {
  const [method, template] = operations[name]
  const { body, path, query } = request as Record<
    "body" | "path" | "query",
    Record<string, unknown> | undefined
  >
  const response = await send(`/console/api${pathOf(template, { slug, ...path })}${searchOf(query)}`, {
    method,
    headers: { "x-console": slug, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal })
  })
  return response.text()
}

export const call = async <N extends OperationName>(
  slug: string,
  name: N,
  request: Request<N>,
  signal?: AbortSignal
): Promise<Answer<N>> => {
  const text = await callText(slug, name, request, signal)
  return (text === "" ? undefined : JSON.parse(text)) as Answer<N>
}
