/**
 * People at the console during a run: each is given a link, signs in with its code, reads again and again with the session's
 * cookie, and then the session ends: by signing out, or with the token that it stands on, which is revoked or expires. After
 * that it is still tried for a while. A visitor with a token reads over REST with it, too.
 */
import type { SessionOrder } from "./Acts.ts"
import type { Call } from "./Publishers.ts"

export interface Read {
  readonly by: "cookie" | "token"
  readonly began: number
  readonly ended: number
  /** Null: no answer. */
  readonly status: number | null
}

export interface Visit {
  readonly ends: SessionOrder["ends"]
  readonly reads: Array<Read>
  /** How a code was answered that had opened a session before. */
  readonly codesUsedAgain: Array<number | null>
  /** It lives until the first of these moments, and is over at the second. */
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
/** Signing in takes its time while things are broken. */
const SIGN_IN_MS = 4_000

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

interface Answer {
  readonly status: number
  readonly cookie: string | null
}

const ask = (url: string, init: RequestInit): Promise<Answer | null> =>
  fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) })
    .then(async (response) => {
      await response.arrayBuffer()
      return { status: response.status, cookie: response.headers.get("set-cookie")?.split(";")[0] ?? null }
    })
    .catch(() => null)

export class Visits {
  readonly all: Array<Visit> = []
  private turn = 0
  private readonly slug: string
  private readonly origins: ReadonlyArray<string>
  private readonly call: Call

  constructor(slug: string, origins: ReadonlyArray<string>, call: Call) {
    this.slug = slug
    this.origins = origins
    this.call = call
  }

  /** Ends when the session has, and was tried afterwards. */
  async visit({ ends, ms }: SessionOrder): Promise<void> {
    const token =
      ends === "sign-out" ? null : await this.makeToken(ends === "expiry" ? ms + SIGN_IN_MS : null)
    const visit: Visit = {
      ends,
      reads: [],
      codesUsedAgain: [],
      until: token?.endsAt ?? Number.POSITIVE_INFINITY,
      over: token?.endsAt ?? Number.POSITIVE_INFINITY
    }
    const cookie = await this.signIn(visit, token)
    if (cookie === null) return
    this.all.push(visit)
    const reading = this.read(visit, cookie, token)
    if (token?.endsAt == null) await this.end(visit, cookie, token, ms)
    await reading
  }

  private origin(): string {
    return this.origins[this.turn++ % this.origins.length]!
  }

  private async end(visit: Visit, cookie: string, token: Token | null, ms: number): Promise<void> {
    await pause(ms)
    visit.until = Date.now()
    if (token === null) await this.signOut(cookie)
    else await this.call("DELETE", `/api-tokens/${token.id}`)
    visit.over = Date.now()
  }

  /** `livesMs`: null for one that does not expire. */
  private async makeToken(livesMs: number | null): Promise<Token> {
    for (;;) {
      const endsAt = livesMs === null ? null : Date.now() + livesMs
      const { body, status } = await this.call("POST", "/api-tokens", {
        name: "A visitor's",
        scopes: ["read", "console:link"],
        ...(endsAt !== null && { expiresAt: new Date(endsAt).toISOString() })
      })
      if (status === 201) return { ...(body as Omit<Token, "endsAt">), endsAt }
      await pause(AGAIN_MS)
    }
  }

  /** The cookie; null when its token ran out before. A sign-in whose answer was lost has used up its code: it takes another. */
  private async signIn(visit: Visit, token: Token | null): Promise<string | null> {
    while (Date.now() < visit.until) {
      const code = await this.link(token)
      const enter = () =>
        ask(`${this.origin()}/console/session`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ code })
        })
      const answer = code === null ? null : await enter()
      if (answer?.status === 201) {
        visit.codesUsedAgain.push((await enter())?.status ?? null)
        return answer.cookie
      }
      await pause(AGAIN_MS)
    }
    return null
  }

  /** The code of a link: the operator's, or of whoever has this token. */
  private async link(token: Token | null): Promise<string | null> {
    const headers = token === null ? {} : { authorization: `Bearer ${token.token}` }
    const { body, status } = await this.call("POST", "/console-links", {}, headers)
    return status === 201
      ? new URL((body as { readonly url: string }).url).hash.replace(/^#?(code=)?/, "")
      : null
  }

  private async signOut(cookie: string): Promise<void> {
    for (;;) {
      const answer = await ask(`${this.origin()}/console/session`, {
        method: "DELETE",
        headers: { cookie, "sec-fetch-site": "same-origin", "x-console": this.slug }
      })
      if (answer?.status === 204) return
      await pause(AGAIN_MS)
    }
  }

  private async read(visit: Visit, cookie: string, token: Token | null): Promise<void> {
    const one = async (by: Read["by"]) => {
      const path = `/workspaces/${this.slug}/webhooks?limit=1`
      const began = Date.now()
      const answer = await (by === "cookie"
        ? ask(`${this.origin()}/console/api${path}`, { headers: { cookie, "sec-fetch-site": "same-origin" } })
        : ask(`${this.origin()}${path}`, { headers: { authorization: `Bearer ${token!.token}` } }))
      visit.reads.push({ by, began, ended: Date.now(), status: answer?.status ?? null })
    }
    while (Date.now() < visit.over + AFTERWARDS_MS) {
      await Promise.all([one("cookie"), ...(token === null ? [] : [one("token")])])
      await pause(READ_EVERY_MS)
    }
  }
}
