/**
 * The routes of the console. Filters are part of a route: they are in the address. In a frame of another page the address stays
 * what it is, and nothing is stored.
 */
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent
} from "@tanstack/react-router"
import { isEmbedded } from "./session/embedding.ts"
import { Start } from "./session/Start.tsx"
import { loaded } from "./shell/loaded.ts"
import { NotFound } from "./shell/NotFound.tsx"
import { FirstPage, Shell } from "./shell/Shell.tsx"

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined)

/** Only known, non-default values, so that addresses stay short. */
const members =
  <const Names extends ReadonlyArray<string>>(...names: Names) =>
  (search: Record<string, unknown>): { readonly [K in Names[number]]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => (text(search[name]) === undefined ? [] : [[name, text(search[name])]]))
    ) as {
      readonly [K in Names[number]]?: string
    }

const root = createRootRoute({ notFoundComponent: NotFound })

const start = createRoute({ getParentRoute: () => root, path: "/", component: Start })

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: members("to"),
  component: lazyRouteComponent(() => loaded(() => import("./session/SignIn.tsx")), "SignIn")
})

const fleet = createRoute({
  getParentRoute: () => root,
  path: "/fleet",
  component: lazyRouteComponent(() => loaded(() => import("./pages/Fleet.tsx")), "Fleet")
})

export const workspace = createRoute({
  getParentRoute: () => root,
  path: "/w/$slug",
  component: Shell,
  notFoundComponent: NotFound
})

const page = <const Path extends string>(
  path: Path,
  load: () => Promise<Record<string, unknown>>,
  name: string
) =>
  createRoute({
    getParentRoute: () => workspace,
    path,
    component: lazyRouteComponent((() => loaded(load)) as never, name as never) as never
  })

const index = createRoute({
  getParentRoute: () => workspace,
  path: "/",
  component: FirstPage
})

export const deliveries = createRoute({
  getParentRoute: () => workspace,
  path: "/deliveries",
  validateSearch: members("status", "eventType", "endpointId", "eventId", "within", "since", "until"),
  component: lazyRouteComponent(() => loaded(() => import("./pages/Deliveries.tsx")), "Deliveries")
})

export const endpoint = createRoute({
  getParentRoute: () => workspace,
  path: "/endpoints/$endpointId",
  validateSearch: members("tab", "status"),
  component: lazyRouteComponent(() => loaded(() => import("./pages/endpoint/Endpoint.tsx")), "Endpoint")
})

export const recover = createRoute({
  getParentRoute: () => workspace,
  path: "/endpoints/$endpointId/recover",
  // `unsent`: with what the endpoint wants and was never sent. `from`: since this time.
  validateSearch: members("unsent", "from"),
  component: lazyRouteComponent(() => loaded(() => import("./pages/Recover.tsx")), "Recover")
})

export const events = createRoute({
  getParentRoute: () => workspace,
  path: "/events",
  validateSearch: members("eventType", "idempotencyKey", "payload", "within"),
  component: lazyRouteComponent(() => loaded(() => import("./pages/Events.tsx")), "Events")
})

const eventTypes = createRoute({
  getParentRoute: () => workspace,
  path: "/event-types",
  // Not in the path: another path would begin the page, its list and what was searched for anew.
  validateSearch: members("eventType"),
  component: lazyRouteComponent(() => loaded(() => import("./pages/eventTypes/EventTypes.tsx")), "EventTypes")
})

const auditLog = createRoute({
  getParentRoute: () => workspace,
  path: "/audit-log",
  validateSearch: members("action", "actor", "target", "within"),
  component: lazyRouteComponent(() => loaded(() => import("./pages/AuditEvents.tsx")), "AuditEvents")
})

const tree = root.addChildren([
  start,
  signIn,
  fleet,
  workspace.addChildren([
    index,
    page("/overview", () => import("./pages/Overview.tsx"), "Overview"),
    page("/endpoints", () => import("./pages/Endpoints.tsx"), "Endpoints"),
    page("/endpoints/new", () => import("./pages/NewEndpoint.tsx"), "NewEndpoint"),
    endpoint,
    recover,
    deliveries,
    page("/deliveries/$deliveryId", () => import("./pages/delivery/Delivery.tsx"), "Delivery"),
    events,
    page("/events/$eventId", () => import("./pages/Event.tsx"), "Event"),
    eventTypes,
    page("/notifications", () => import("./pages/Notifications.tsx"), "Notifications"),
    auditLog,
    page("/settings", () => import("./pages/WorkspaceSettings.tsx"), "WorkspaceSettings"),
    page("/members", () => import("./pages/Members.tsx"), "Members"),
    page("/api-tokens", () => import("./pages/ApiTokens.tsx"), "ApiTokens"),
    page("/connect", () => import("./pages/Connect.tsx"), "Connect")
  ])
])

export const router = createRouter({
  routeTree: tree,
  basepath: "/console",
  defaultPreload: "intent",
  scrollRestoration: !isEmbedded,
  ...(isEmbedded && { history: createMemoryHistory({ initialEntries: ["/console/"] }) }),
  defaultNotFoundComponent: NotFound
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
