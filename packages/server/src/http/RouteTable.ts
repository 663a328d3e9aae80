/** What the router's routes are, for whoever has a path and no route: which methods it answers, which operation it names. */
import type { HttpRouter } from "@effect/platform"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"

export interface RouteTable {
  /** The methods that this path answers, for `Allow`; undefined when it answers none. */
  readonly allowed: (pathname: string) => string | undefined
  readonly operation: (method: string, pathname: string) => ContractEntry | undefined
}

const METHODS = ["GET", "POST", "PATCH", "DELETE"]

const patternOf = (path: string) =>
  new RegExp(`^${path.replace(/[.]/g, "\\.").replace(/:\w+/g, "[^/]+").replace(/\*$/, ".*")}/?$`)

export const makeRouteTable = (routes: Iterable<HttpRouter.Route<unknown, unknown>>): RouteTable => {
  const known = [...routes].map(({ method, path }) => ({ method, pattern: patternOf(path) }))
  const operations = entries.map((entry) => ({
    entry,
    pattern: patternOf(`(?:/console/api)?${entry.path}`)
  }))
  return {
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
