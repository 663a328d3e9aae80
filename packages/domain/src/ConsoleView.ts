/**
 * What a link lets its session see of the console, where it may be embedded, and how its pages look. Null: nothing is said, so
 * everything may be seen, in a window of its own.
 *
 * Origins are written into a header (`frame-ancestors`), so they have only characters that mean nothing there.
 * Source: spec §11.1.
 */
import { Schema } from "effect"
import type { Requirement } from "./Permission.ts"

export const consolePages = [
  "overview",
  "endpoints",
  "deliveries",
  "events",
  "event-types",
  "notifications",
  "audit-log",
  "members",
  "api-tokens",
  "connect"
] as const
export const ConsolePage = Schema.Literal(...consolePages)
export type ConsolePage = typeof ConsolePage.Type

/** What a page requires of the caller at the least. */
const needs: Readonly<Record<string, Requirement>> = {
  overview: "workspace:read",
  endpoints: "webhook:read",
  deliveries: "webhook:read",
  events: "webhook:read",
  "event-types": "webhook:read",
  notifications: "notification:list",
  "audit-log": "audit:list",
  members: "member:list",
  "api-tokens": "token:list",
  settings: "workspace:read",
  connect: "any"
} satisfies Record<ConsolePage | "settings", Requirement>

export const MOST_ORIGINS = 10

const ORIGIN =
  /^(?:https:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|http:\/\/(?:localhost|127(?:\.\d{1,3}){3}))(?::\d{1,5})?$/

/** Whether the text is an origin as a browser writes it: https, or http on this machine. */
export const isEmbeddingOrigin = (text: string): boolean =>
  text.length <= 260 && ORIGIN.test(text) && URL.canParse(text) && new URL(text).origin === text

/** The origins of an embedded page's query, by commas. */
export const originsOf = (embeddedIn: string | null): ReadonlyArray<string> => embeddedIn?.split(",") ?? []

/** The path of the embedded page below `/console/`: its headers name these origins, and a link's code fits only there. */
export const embeddedPage = (embedIn: ReadonlyArray<string>): string => `embed?in=${embedIn.join(",")}`

export const EmbeddingOrigin = Schema.String.pipe(
  Schema.filter(isEmbeddingOrigin, {
    // Random text is never one.
    arbitrary: () => (fc) => fc.constantFrom("https://app.example.com", "http://localhost:3000")
  })
)

export const ConsoleTheme = Schema.Struct({
  accent: Schema.optional(
    Schema.String.pipe(Schema.pattern(/^#[0-9a-fA-F]{6}$/)).annotations({
      description: "The colour of buttons and links, in place of the installation's.",
      examples: ["#0a7d5a"]
    })
  ),
  colorScheme: Schema.optional(
    Schema.Literal("light", "dark", "system").annotations({
      description: "Default: what the browser prefers.",
      examples: ["light"]
    })
  ),
  radius: Schema.optional(
    Schema.Number.pipe(Schema.int(), Schema.between(0, 16)).annotations({
      description: "Of corners, in pixels.",
      examples: [8]
    })
  )
})
export type ConsoleTheme = typeof ConsoleTheme.Type

export const ConsoleView = Schema.Struct({
  embedIn: Schema.NullOr(Schema.Array(EmbeddingOrigin)),
  pages: Schema.NullOr(Schema.Array(ConsolePage)),
  endpointIds: Schema.NullOr(Schema.Array(Schema.String)),
  theme: Schema.NullOr(ConsoleTheme),
  /** The path below the workspace where it begins. */
  to: Schema.NullOr(Schema.String)
})
export type ConsoleView = typeof ConsoleView.Type

export const WHOLE_CONSOLE: ConsoleView = {
  embedIn: null,
  pages: null,
  endpointIds: null,
  theme: null,
  to: null
}

const PATH = /^([a-z-]+)(?:\/([\w-]+))?(?:\/[\w-]+)*(?:\?[^\s#]*)?$/

/**
 * Whether a session with this view and these permissions has the page of the path below the workspace. The workspace's settings
 * are a page that no list of pages names.
 */
export const isShown = (
  { endpointIds, pages }: Pick<ConsoleView, "endpointIds" | "pages">,
  permissions: ReadonlySet<string>,
  to: string
): boolean => {
  const [, page = "", id] = PATH.exec(to) ?? []
  const needed = needs[page]
  return (
    needed !== undefined &&
    (needed === "any" || permissions.has(needed)) &&
    (pages === null || pages.some((each) => each === page)) &&
    (page !== "endpoints" || id === undefined || endpointIds === null || endpointIds.includes(id))
  )
}
