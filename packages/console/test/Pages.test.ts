/** What a page's modules call is what the contract gives to sessions that have the page. */
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { pagesWith } from "@posthorn/api-contract/ConsolePages"
import { type ConsolePage, consolePages, isShown, WHOLE_CONSOLE } from "@posthorn/domain/ConsoleView"
import { permissions } from "@posthorn/domain/Permission"
import { describe, expect, it } from "vitest"
import { operations } from "../src/api/operations.ts"
import { places } from "../src/shell/places.ts"

const SOURCES = fileURLToPath(new URL("../src", import.meta.url))

const modules: Readonly<Record<ConsolePage, ReadonlyArray<string>>> = {
  overview: ["Overview"],
  endpoints: ["Endpoints", "NewEndpoint", "endpoint/Endpoint", "Recover"],
  deliveries: ["Deliveries", "delivery/Delivery"],
  events: ["Events", "Event"],
  "event-types": ["eventTypes/EventTypes"],
  notifications: ["Notifications"],
  "audit-log": ["AuditEvents"],
  members: ["Members"],
  "api-tokens": ["ApiTokens"],
  connect: ["Connect"]
}

/** The module and what it imports, but for the tables of all operations and of all pages. */
const withImports = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(file) || /\/(router\.tsx|api\/(operations|contract)\.ts)$/.test(file)) return seen
  seen.add(file)
  for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)"/g))
    withImports(resolve(dirname(file), path), seen)
  return seen
}

const namedIn = (page: ConsolePage) =>
  new Set(
    modules[page]
      .flatMap((name) => [...withImports(`${SOURCES}/pages/${name}.tsx`)])
      .flatMap((file) => [...readFileSync(file, "utf8").matchAll(/"(\w+)"/g)].map(([, word = ""]) => word))
      .filter((word) => word in operations)
  )

describe("a page of the console", () => {
  for (const page of consolePages)
    it(`§11.1 ${page} has the operations that its modules name`, () => {
      const given = Object.keys(operations).filter((name) => pagesWith(name).includes(page))
      expect([...namedIn(page)].toSorted()).toEqual(given.toSorted())
    })

  it("§11.1 is a place in the navigation, with the same permission", () => {
    expect(places.map(({ to }) => to.split("/").at(-1)).filter((page) => page !== "settings")).toEqual(
      consolePages
    )
    for (const { needs, to } of places) {
      const page = to.split("/").at(-1)!
      const [, , permission] = operations[needs]
      const others = new Set(permissions.filter((each) => each !== permission))
      expect([page, isShown(WHOLE_CONSOLE, new Set(permissions), page)]).toEqual([page, true])
      expect([page, isShown(WHOLE_CONSOLE, others, page)]).toEqual([page, permission === ("any" as string)])
    }
  })
})
