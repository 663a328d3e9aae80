/** Which operation a method and path mean. Built once from the contract. */
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import * as FindMyWay from "find-my-way-ts"

export interface Match {
  readonly entry: ContractEntry
  readonly path: Readonly<Record<string, string>>
}

const METHODS = ["GET", "POST", "PATCH", "DELETE"]

/** More than a request line can have: a long id is an unknown id, not an unknown path. */
const MAX_PARAM = 20_000

const router = FindMyWay.make<ContractEntry>({ maxParamLength: MAX_PARAM, ignoreTrailingSlash: true })
for (const entry of entries) router.on(entry.method, entry.path as FindMyWay.PathInput, entry)

/**
 * The path as the router is to see it. What does not decode is an id that nothing has; a `;` belongs to its segment, and
 * is encoded because the router would end the path there.
 */
const readable = (pathname: string) => {
  const path = pathname.includes(";") ? pathname.replaceAll(";", "%3B") : pathname
  return path.includes("%") ? path.split("/").map(readableSegment).join("/") : path
}

const readableSegment = (segment: string) => {
  try {
    decodeURIComponent(segment)
    return segment
  } catch {
    return "-"
  }
}

/** The operation at this path, or undefined. A HEAD is the GET without its body. */
export const find = (method: string, pathname: string): Match | undefined => {
  const found = router.find(method === "HEAD" ? "GET" : method, readable(pathname))
  return found === undefined
    ? undefined
    : { entry: found.handler, path: found.params as Readonly<Record<string, string>> }
}

/** The methods this path answers, or undefined when nothing lives there. */
export const allowed = (pathname: string): string | undefined => {
  const path = readable(pathname)
  const methods = METHODS.filter((method) => router.find(method, path) !== undefined)
  if (methods.length === 0) return undefined
  return (methods.includes("GET") ? [...methods, "HEAD"] : methods).join(", ")
}
