/**
 * The console's cookies: one for each workspace that the browser is signed in to, so that two can be open at once. The public
 * API ignores them. Source: spec §11.
 *
 * Over https the name begins with `__Host-`: a browser accepts such a cookie only from this exact host, with `Secure` and
 * without a domain. On plain-HTTP loopback, where `Secure` is impossible, the cookie is limited to `/console`.
 */

/** A cookie's content: the workspace's slug and the session's secret. */
export type CookieSecret = readonly [slug: string, secret: string]

export interface Cookies {
  /**
   * Reads all cookies, even several with one name: a planted cookie beside the right one must not lock anybody out. The limit
   * on headers (16 KiB) allows some 200.
   */
  readonly read: (header: string | undefined) => ReadonlyArray<CookieSecret>
  readonly set: (slug: string, secret: string) => string
  readonly clear: (slug: string) => string
}

/** The lifetime of a session. The server also enforces it by its own clock. */
const MAX_AGE_SECONDS = 7 * 24 * 3600
const SECRET = /^[A-Za-z0-9_-]{43}$/

const isPlainLoopback = (baseUrl: string) => {
  const { hostname, protocol } = new URL(baseUrl)
  return protocol === "http:" && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

export const makeCookies = (baseUrl: string): Cookies => {
  const secure = !isPlainLoopback(baseUrl)
  const prefix = `${secure ? "__Host-" : ""}posthorn_console_`
  const attributes = `Path=${secure ? "/" : "/console"}; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`

  return {
    read: (header = "") =>
      header.split(";").flatMap((pair): ReadonlyArray<CookieSecret> => {
        const [name = "", value = ""] = pair.trim().split("=", 2)
        return name.startsWith(prefix) && SECRET.test(value) ? [[name.slice(prefix.length), value]] : []
      }),
    set: (slug, secret) => `${prefix}${slug}=${secret}; Max-Age=${MAX_AGE_SECONDS}; ${attributes}`,
    clear: (slug) => `${prefix}${slug}=; Max-Age=0; ${attributes}`
  }
}
