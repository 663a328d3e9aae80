/** The columns of deliveries in all lists. */
import { failureInWords } from "@posthorn/domain/FailureWords"
import type { ItemOf } from "../api/contract.ts"
import { Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { StatusBadge } from "../ui/Status.tsx"
import type { Column } from "../ui/Table.tsx"
import { duration, Time, useNow } from "../ui/Time.tsx"
import { type Trying, useMostAttempts, useWaitsFor } from "./policies.ts"
import { useEndpoints } from "./useEndpoints.ts"

export type DeliveryRow = ItemOf<"listWorkspaceDeliveries">

/** The statuses of deliveries that can be replayed. */
export const REPLAYABLE: ReadonlyArray<string> = ["failed", "failed_permanent", "dead_lettered"]

/** Texts share the room that the other columns leave, and are cut off, so that every column stays visible. */
const SHARE = "w-[22%] max-w-0"

const lastAnswer = ({ lastDurationMs, lastFailureReason, lastHttpStatus }: DeliveryRow) => {
  const text = failureInWords(lastFailureReason, lastHttpStatus)
  return text === "" ? (
    <span className="text-faint">–</span>
  ) : (
    <span className="block truncate text-soft" title={text}>
      {text}
      {lastDurationMs === null ? "" : <span className="text-faint"> · {duration(lastDurationMs)}</span>}
    </span>
  )
}

const Next = ({
  at,
  delivery,
  endpoint
}: {
  at: string
  delivery: DeliveryRow
  endpoint: Trying | undefined
}) => {
  const isDue = useNow() >= Date.parse(at)
  const waits = useWaitsFor()(endpoint, delivery, isDue)
  if (waits?.brief !== undefined)
    return (
      <span className="whitespace-nowrap text-soft" title={waits.why}>
        {waits.brief}
      </span>
    )
  return isDue ? <>now</> : <Time at={at} />
}

const columns = (
  slug: string,
  find: (endpointId: string) => Trying | undefined,
  mostAttempts: ReturnType<typeof useMostAttempts>,
  endpointName: ((endpointId: string) => string) | undefined
): ReadonlyArray<Column<DeliveryRow>> => [
  {
    head: "Status",
    className: "whitespace-nowrap",
    narrow: "first",
    cell: ({ status }) => <StatusBadge status={status} />
  },
  {
    head: "Event type",
    narrow: "plain",
    className: SHARE,
    cell: ({ eventType, id, recoveredBy, replayedFrom, test }) => (
      <span className="flex min-w-0 items-center gap-2">
        <Link
          to="/w/$slug/deliveries/$deliveryId"
          params={{ slug, deliveryId: id }}
          className="inline-flex min-h-6 min-w-0 items-center rounded font-medium hover:underline"
        >
          <span className="truncate" title={eventType}>
            {eventType}
          </span>
        </Link>
        {test ? <span className="text-xs text-faint">test</span> : null}
        {replayedFrom === null ? null : <span className="text-xs text-faint">replay</span>}
        {recoveredBy === null ? null : <span className="text-xs text-good">recovered</span>}
      </span>
    )
  },
  ...(endpointName === undefined
    ? []
    : [
        {
          head: "Endpoint",
          narrow: "plain" as const,
          className: SHARE,
          cell: ({ endpointId }: DeliveryRow) => (
            <span className="block truncate text-soft" title={endpointName(endpointId)}>
              {endpointName(endpointId)}
            </span>
          )
        }
      ]),
  {
    head: "Attempts",
    narrow: "hide",
    className: "whitespace-nowrap",
    cell: ({ attempts, endpointId }) => {
      const endpoint = find(endpointId)
      return (
        <span className="text-soft tabular-nums">
          {attempts}
          {endpoint === undefined ? null : (
            <span className="text-faint"> of {mostAttempts(endpoint.effectivePolicy)}</span>
          )}
        </span>
      )
    }
  },
  { head: "Last answer", narrow: "plain", className: "w-[34%] max-w-0", cell: lastAnswer },
  {
    head: "Next attempt",
    narrow: "hide",
    className: "whitespace-nowrap",
    cell: (delivery) =>
      delivery.nextAttemptAt === null || delivery.status === "delivered" ? (
        <span className="text-faint">–</span>
      ) : (
        <Next at={delivery.nextAttemptAt} delivery={delivery} endpoint={find(delivery.endpointId)} />
      )
  },
  {
    head: "Created",
    narrow: "end",
    className: "whitespace-nowrap text-soft",
    cell: ({ createdAt }) => <Time at={createdAt} />
  }
]

/** Of one endpoint, or of all of them. */
export const useDeliveryColumns = (only?: Trying) => {
  const { slug } = useSession()
  const { find, nameOf } = useEndpoints()
  const mostAttempts = useMostAttempts()
  return columns(
    slug,
    only === undefined ? find : () => only,
    mostAttempts,
    only === undefined ? nameOf : undefined
  )
}
