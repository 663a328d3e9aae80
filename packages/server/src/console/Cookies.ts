/**
 * The console's cookies: one for each workspace that the browser is signed in to, so that two can be open beside each
 * other. They exist only under `/console`: the browser never sends them to the public API. Source: spec §11.
 */

export interface Cookies {
  readonly read: (header: string | undefined) => ReadonlyMap<string, string>
  readonly set: (slug: string, secret: string) => string
  readonly clear: (slug: string) => string
}

/** The lifetime of a session; the server ends it by its own clock. */
const MAX_AGE_SECONDS = 7 * 24 * 3600
const SECRET = /^[A-Za-z0-9_-]{43}$/
/** No browser is signed in to more workspaces than this; more would only cost look-ups. */
const MAX_SESSIONS = 50

const isPlainLoopback = (baseUrl: string) => {
  const { hostname, protocol } = new URL(baseUrl)
  return protocol === "http:" && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

/** `Secure` anywhere but on plain loopback. */
export const makeCookies = (baseUrl: string): Cookies => {
  const secure = !isPlainLoopback(baseUrl)
  const prefix = `${secure ? "__Secure-" : ""}posthorn_console_`
  const attributes = `Path=/console; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`

  /** Secrets by slug. */
  const read = (header = "") => {
    const found = new Map<string, string>()
    for (const pair of header.split(";")) {
      const [name = "", value = ""] = pair.trim().split("=", 2)
      if (name.startsWith(prefix) && SECRET.test(value) && found.size < MAX_SESSIONS)
        found.set(name.slice(prefix.length), value)
    }
    return found
  }

  return {
    read,
    set: (slug, secret) => `${prefix}${slug}=${secret}; Max-Age=${MAX_AGE_SECONDS}; ${attributes}`,
    clear: (slug) => `${prefix}${slug}=; Max-Age=0; ${attributes}`
  }
}
