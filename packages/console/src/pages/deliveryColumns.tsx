/** The columns of deliveries in all lists. */
import { Link } from "@tanstack/react-router"
import type { ItemOf } from "../api/contract.ts"
import { reasonOf, StatusBadge } from "../ui/Status.tsx"
import type { Column } from "../ui/Table.tsx"
import { duration, Time, Until } from "../ui/Time.tsx"

type DeliveryRow = ItemOf<"listWorkspaceDeliveries">

const LADDER = 7

/** Texts share the room that the other columns leave, and are cut off, so that every column stays visible. */
const SHARE = "w-[22%] max-w-0"

const lastAnswer = ({ lastDurationMs, lastFailureReason, lastHttpStatus }: DeliveryRow) => {
  const text = reasonOf(lastFailureReason, lastHttpStatus)
  return text === "" ? (
    <span className="text-faint">–</span>
  ) : (
    <span className="block truncate text-soft" title={text}>
      {text}
      {lastDurationMs === null ? "" : <span className="text-faint"> · {duration(lastDurationMs)}</span>}
    </span>
  )
}

export const deliveryColumns = (
  slug: string,
  isDisabled: (endpointId: string) => boolean,
  endpointName?: (endpointId: string) => string
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
    cell: ({ eventType, id, replayedFrom, test }) => (
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
    cell: ({ attempts }) => (
      <span className="text-soft tabular-nums">
        {attempts} <span className="text-faint">of {LADDER}</span>
      </span>
    )
  },
  { head: "Last answer", narrow: "plain", className: "w-[34%] max-w-0", cell: lastAnswer },
  {
    head: "Next attempt",
    narrow: "hide",
    className: "whitespace-nowrap",
    cell: ({ endpointId, nextAttemptAt, status }) =>
      nextAttemptAt === null || status === "delivered" ? (
        <span className="text-faint">–</span>
      ) : isDisabled(endpointId) ? (
        <span className="whitespace-nowrap text-soft" title="Its endpoint is disabled">
          when enabled
        </span>
      ) : (
        <Until at={nextAttemptAt} />
      )
  },
  {
    head: "Created",
    narrow: "end",
    className: "whitespace-nowrap text-soft",
    cell: ({ createdAt }) => <Time at={createdAt} />
  }
]
