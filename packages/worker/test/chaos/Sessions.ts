/**
 * People at the console during a run. Each gets a link, signs in with its code and reads repeatedly with the session's
 * cookie. The session ends by signing out, or when its token is revoked or expires. The cookie is then still tried for a
 * while. Whoever has a token also reads over REST with it.
 */
import type { SessionOrder } from "./Actions.ts"
import { pause } from "./Disturbances.ts"
import type { Call } from "./Publishers.ts"

export interface Read {
  readonly by: "cookie" | "token"
  readonly began: number
  readonly ended: number
  /** Null: no answer. */
  readonly status: number | null
}

export interface Session {
  readonly ends: SessionOrder["ends"]
  readonly reads: Array<Read>
  /** The answer to a code that had already opened a session. */
  readonly codesUsedAgain: Array<number | null>
  /** Valid until the first of these moments, and certainly ended at the second. */
  until: number
  over: number
}

interface Token {
  readonly id: string
  readonly token: string
  readonly endsAt: number | null
}

const READ_EVERY_MS = 150
const AFTERWARDS_MS = 2_000
const PATIENCE_MS = 5_000
const AGAIN_MS = 300
/** Signing in takes longer while things are broken. */
const SIGN_IN_MS = 4_000

const ask = (url: string, init: RequestInit) =>
  fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) })
    .then(async (response) => {
      await response.arrayBuffer()
      return { status: response.status, cookie: response.headers.get("set-cookie")?.split(";")[0] ?? null }
    })
    .catch(() => null)

export const makeSessions = (slug: string, origins: ReadonlyArray<string>, call: Call) => {
  const all: Array<Session> = []
  let turn = 0
  const at = (path: string) => `${origins[turn++ % origins.length]}${path}`

  /** `livesMs`: null for a token that does not expire. */
  const makeToken = async (livesMs: number | null): Promise<Token> => {
    for (;;) {
      const endsAt = livesMs === null ? null : Date.now() + livesMs
      const { body, status } = await call("POST", "/api-tokens", {
        name: "A visitor's",
        scopes: ["read", "console:link"],
        ...(endsAt !== null && { expiresAt: new Date(endsAt).toISOString() })
      })
      if (status === 201) return { ...(body as Omit<Token, "endsAt">), endsAt }
      await pause(AGAIN_MS)
    }
  }

  /** The code of a link made by the operator, or with this token. */
  const codeOf = async (token: Token | null): Promise<string | null> => {
    const headers = token === null ? {} : { authorization: `Bearer ${token.token}` }
    const { body, status } = await call("POST", "/console-links", {}, headers)
    const link = body as { readonly url: string }
    return status === 201 ? new URL(link.url).hash.replace(/^#?(code=)?/, "") : null
  }

  /**
   * The cookie; null when its token expired before. A sign-in whose answer was lost has used up its code, so it uses
   * another.
   */
  const signIn = async (session: Session, token: Token | null): Promise<string | null> => {
    for (; Date.now() < session.until; await pause(AGAIN_MS)) {
      const code = await codeOf(token)
      if (code === null) continue
      const headers = { "content-type": "application/json" }
      const enter = () =>
        ask(at("/console/session"), { method: "POST", headers, body: JSON.stringify({ code }) })
      const answer = await enter()
      if (answer?.status !== 201) continue
      session.codesUsedAgain.push((await enter())?.status ?? null)
      return answer.cookie
    }
    return null
  }

  const signOut = async (cookie: string) => {
    const headers = { cookie, "sec-fetch-site": "same-origin", "x-console": slug }
    while ((await ask(at("/console/session"), { method: "DELETE", headers }))?.status !== 204)
      await pause(AGAIN_MS)
  }

  const readUntilItIsOver = async (session: Session, cookie: string, token: Token | null) => {
    const path = `/workspaces/${slug}/webhooks?limit=1`
    const read = async (by: Read["by"], url: string, headers: Readonly<Record<string, string>>) => {
      const began = Date.now()
      const answer = await ask(url, { headers })
      session.reads.push({ by, began, ended: Date.now(), status: answer?.status ?? null })
    }
    for (; Date.now() < session.over + AFTERWARDS_MS; await pause(READ_EVERY_MS))
      await Promise.all([
        read("cookie", at(`/console/api${path}`), { cookie, "sec-fetch-site": "same-origin" }),
        token && read("token", at(path), { authorization: `Bearer ${token.token}` })
      ])
  }

  /** Ends when the session has, and was tried afterwards. */
  const order = async ({ ends, ms }: SessionOrder): Promise<void> => {
    const token = ends === "sign-out" ? null : await makeToken(ends === "expiry" ? ms + SIGN_IN_MS : null)
    const until = token?.endsAt ?? Number.POSITIVE_INFINITY
    const session: Session = { ends, reads: [], codesUsedAgain: [], until, over: until }
    const cookie = await signIn(session, token)
    if (cookie === null) return
    all.push(session)
    const reading = readUntilItIsOver(session, cookie, token)
    if (ends !== "expiry") {
      await pause(ms)
      session.until = Date.now()
      await (token === null ? signOut(cookie) : call("DELETE", `/api-tokens/${token.id}`))
      session.over = Date.now()
    }
    await reading
  }
  return { all, order }
}
