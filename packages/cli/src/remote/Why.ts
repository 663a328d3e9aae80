/** `posthorn why EVENT_ID [ENDPOINT_ID]`: which endpoints got an event, why the others did not, and what to do. */
import type { RoutingReason } from "@posthorn/domain/States"
import { Array, Effect, Option } from "effect"
import { counted } from "../command/Counted.ts"
import { given, type Paging, showList } from "./Lists.ts"
import { Posthorn } from "./Posthorn.ts"

interface Why extends Paging {
  readonly eventId: string
  readonly endpointId: Option.Option<string>
}

interface Route {
  readonly endpointId: string
  readonly reason: RoutingReason
  readonly deliveryId: string | null
  readonly because: { readonly path: string; readonly condition: unknown } | null
}

/** As a count of endpoints, and of one of them. */
const WORDS: Readonly<Record<RoutingReason, readonly [count: string, why: string]>> = {
  unfilterable: ["got it unjudged", "Sent without being judged."],
  sent: ["got it", "Sent by the publish."],
  not_chosen: ["not chosen", "The publish named other endpoints."],
  about_itself: ["about itself", "Endpoints are not told that they themselves were disabled."],
  missed: ["missed it", "It was disabled."],
  created_later: ["made later", "It was made after the publish."],
  changed_since: ["changed since", "It would get it now, and did not then."],
  type: ["want other types", "It does not subscribe to this type."],
  filter: ["filtered", "Its filter does not let it through."]
}

const whyOf = ({ because, reason }: Route) =>
  because === null
    ? WORDS[reason][1]
    : `Its filter wants ${JSON.stringify(because.condition)} at ${because.path || "the root"}.`

/** What can be done for an endpoint with this reason. */
const nextOf = (endpoint: string, since: string): Readonly<Partial<Record<RoutingReason, string>>> => ({
  sent: "posthorn attempts DELIVERY shows what became of a delivery.",
  missed: `posthorn recover ${endpoint} --since ${since} --include-missed sends what it missed.`,
  created_later: `posthorn recover ${endpoint} --since ${since} --include-unsent sends what it has not seen.`,
  changed_since: `posthorn recover ${endpoint} --since ${since} --include-unsent sends what it has not seen.`,
  type: `posthorn endpoints update ${endpoint} --event-types a,b changes what it gets from now on.`,
  filter: `posthorn endpoints update ${endpoint} --filter JSON changes what it lets through from now on.`
})

const around = (eventType: string, since: string) => (routes: ReadonlyArray<Route>, isAll: boolean) => {
  const groups = Object.values(Array.groupBy(routes, ({ reason }) => reason))
  const counts = groups.map((group) => `${group.length} ${WORDS[group[0].reason][0]}`)
  const endpoint = routes.length === 1 ? routes[0]!.endpointId : "ENDPOINT"
  const next = nextOf(endpoint, since)
  const steps = [...new Set(groups.flatMap((group) => next[group[0].reason] ?? []))]
  return [
    `${eventType} of ${since}, ${isAll ? "" : routes.length === 1 ? "this " : "these "}${counted(routes.length, "endpoint")}: ${counts.join(", ")}.`,
    steps.map((step) => `→ ${step}`).join("\n")
  ] as const
}

export const why = (options: Why) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const path = { slug, eventId: options.eventId }
    const { value: event } = yield* ask(({ events }) => events.getEvent({ path, withResponse: true }))
    yield* showList(
      options,
      (page) =>
        ask(({ routing }) =>
          routing.explainEventRouting({
            path,
            urlParams: { ...given({ endpointId: options.endpointId }), ...page },
            withResponse: true
          })
        ),
      {
        heads: ["ENDPOINT", "DELIVERY", "WHY"],
        cells: (route: Route) => [route.endpointId, route.deliveryId, whyOf(route)],
        empty: Option.isSome(options.endpointId) ? "There is no such endpoint." : "There are no endpoints.",
        around: around(event.eventType, event.createdAt)
      }
    )
  })
