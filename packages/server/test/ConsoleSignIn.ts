/** Signs in to the console as its page does, and makes calls with the cookie. */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { type Entered, type Loose, TestServer } from "./TestServer.ts"

export const OURS = { "sec-fetch-site": "same-origin", "x-console": "1" }

/** `name=value` of the cookie that an answer sets. */
export const cookieOf = (headers: Headers) => headers.get("set-cookie")?.split(";")[0] ?? ""

export const codeOf = (url: unknown) => new URLSearchParams(new URL(String(url)).hash.slice(1)).get("code")!

export const linkFor = (ws: Entered, body: unknown = {}, token = ws.token) =>
  Effect.map(ws.call("POST", "/console-links", { body, token }), (answer) => codeOf(answer.body.url))

export const signIn = (body: unknown, headers: Readonly<Record<string, string>> = OURS) =>
  Effect.flatMap(TestServer, ({ call }) => call("POST", "/console/session", { body, headers }))

/** A session opened by a link's code, with calls through the console below the workspace's path. */
export const openConsole = (ws: Entered, code: string) =>
  Effect.gen(function* () {
    const { call } = yield* TestServer
    const opened = yield* signIn({ code })
    expect(opened.status).toBe(201)
    const cookie = cookieOf(opened.headers)
    const use = <Body = Loose>(method: string, path: string, sent?: unknown) =>
      call<Body>(method, `/console/api/workspaces/${ws.slug}${path}`, {
        headers: { ...OURS, cookie },
        ...(sent === undefined ? {} : { body: sent })
      })
    return { cookie, opened, use }
  })

export const enterConsole = (ws: Entered, body?: unknown, token?: string) =>
  Effect.flatMap(linkFor(ws, body, token), (code) => openConsole(ws, code))
