/** The router's routes by path: which methods a path answers, and which operation it is. */
import type { HttpRouter } from "@effect/platform"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"

export interface RouteTable {
  /**
   * Whether a route has exactly this path. The router also accepts doubled slashes, capitals and escaped letters: then a proxy
   * that checks paths would see another path than the one that is answered.
   */
  readonly has: (pathname: string) => boolean
  /** The methods of this path, for `Allow`; undefined if there are none. */
  readonly allowed: (pathname: string) => string | undefined
  readonly operation: (method: string, pathname: string) => ContractEntry | undefined
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]

const patternOf = (path: string) =>
  new RegExp(`^${path.replace(/[.]/g, "\\.").replace(/:\w+/g, "[^/]+").replace(/\*$/, ".*")}/?$`)

export const makeRouteTable = (routes: Iterable<HttpRouter.Route<unknown, unknown>>): RouteTable => {
  const known = [...routes].map(({ method, path }) => ({ method, pattern: patternOf(path) }))
  const operations = entries.map((entry) => ({
    entry,
    pattern: patternOf(`(?:/console/api)?${entry.path}`)
  }))
  const any = new RegExp(known.map(({ pattern }) => pattern.source).join("|"))
  return {
    has: (pathname) => any.test(pathname),
    allowed: (pathname) => {
      const answered = new Set(
        known.filter(({ pattern }) => pattern.test(pathname)).map(({ method }) => method)
      )
      const methods = METHODS.filter((method) => answered.has(method as never))
      if (methods.length === 0) return undefined
      return (methods.includes("GET") ? [...methods, "HEAD"] : methods).join(", ")
    },
    operation: (method, pathname) =>
      operations.find(
        ({ entry, pattern }) =>
          entry.method === (method === "HEAD" ? "GET" : method) && pattern.test(pathname)
      )?.entry
  }
}
