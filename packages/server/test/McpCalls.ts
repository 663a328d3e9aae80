/** MCP messages written by hand, for calls that the SDK's client would not send or whose answers it would hide. */
import { Effect } from "effect"
import type { Answer } from "./TestServer.ts"

interface RpcAnswer {
  readonly id: unknown
  readonly result: ToolResult & Readonly<Record<string, never>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export interface ToolResult {
  readonly content: ReadonlyArray<{ readonly type: string; readonly text: string }>
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

export interface PostOptions {
  readonly token?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Posts a text to /mcp unchanged, or to the URL if that names /mcp and a query. */
export const post = (url: string, text: string, { headers, method = "POST", token }: PostOptions = {}) =>
  Effect.promise(async (): Promise<Answer<RpcAnswer>> => {
    const response = await fetch(url.includes("/mcp") ? url : `${url}/mcp`, {
      method,
      ...(method === "POST" ? { body: text } : {}),
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers
      }
    })
    const received = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text: received,
      body: received === "" ? {} : JSON.parse(received)
    }
  })

/** One request, with id 1. */
export const rpc = (url: string, token: string, method: string, params: unknown = {}) =>
  post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), { token })

/** The result of a tool. */
export const callTool = (url: string, token: string, name: string, args: unknown = {}) =>
  Effect.map(rpc(url, token, "tools/call", { name, arguments: args }), ({ body }) => body.result)

/** The result of a tool whose arguments are given as text. */
export const callToolRaw = (url: string, token: string, name: string, args: string) =>
  post(
    url,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`,
    {
      token
    }
  )
