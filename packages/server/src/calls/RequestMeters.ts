/** Counts calls of operations when they are answered, for all transports. */
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import type { Via } from "@posthorn/domain/Principal"
import { counter, histogram, SECONDS } from "@posthorn/telemetry/Meters"

const TRANSPORTS = ["rest", "mcp", "console"] as const satisfies ReadonlyArray<Via>

const requests = counter(
  "posthorn_requests_total",
  "Calls of operations, by the transport they came through (rest, mcp, console) and the HTTP status of the answer; over MCP the one REST would give.",
  ["operation", "via", "status"],
  entries.flatMap(({ name, successStatus }) =>
    TRANSPORTS.flatMap((via) =>
      [successStatus, 500, 503].map((status) => [name, via, String(status)] as const)
    )
  )
)
const durations = histogram(
  "posthorn_request_duration_seconds",
  "From the head of a request to its answer, in seconds.",
  SECONDS,
  "operation"
)

export const answered = ({ name }: ContractEntry, via: Via, status: number, tookMs: number): void => {
  requests.add(1, name, via, String(status))
  durations.observe(tookMs / 1000, name)
}
