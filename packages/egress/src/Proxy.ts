/**
 * The proxy through which all requests go out, as an operator writes it: `http://[user:password@]host:port`. Its credentials are
 * redacted from here on, and no problem that is returned repeats them. Source: spec §3.4 ("Proxy").
 */
import { Either, Redacted } from "effect"

export interface Proxy {
  readonly host: string
  readonly port: number
  /** The value of `proxy-authorization`. */
  readonly authorization: Redacted.Redacted | null
}

const FORM = /^http:\/\/(?:[^/?#]*@)?(?:\[[^\]]+\]|[^:/?#@]+):(\d+)\/?$/i

const problem = "is no address of a proxy: write http://host:port or http://user:password@host:port"

export const parseProxy = (text: string): Either.Either<Proxy, string> => {
  const port = Number(FORM.exec(text.trim())?.[1] ?? 0)
  if (port < 1 || port > 65_535 || !URL.canParse(text)) return Either.left(problem)
  const { hostname, password, username } = new URL(text)
  const authorization = username === "" && password === "" ? null : basic(username, password)
  if (authorization === undefined) return Either.left(problem)
  return Either.right({ host: hostname.replace(/^\[|\]$/g, ""), port, authorization })
}

const basic = (username: string, password: string): Redacted.Redacted | undefined => {
  try {
    const user = decodeURIComponent(username)
    if (user.includes(":")) return undefined
    const credentials = Buffer.from(`${user}:${decodeURIComponent(password)}`).toString("base64")
    return Redacted.make(`Basic ${credentials}`)
  } catch {
    return undefined
  }
}
