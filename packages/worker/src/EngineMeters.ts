/**
 * What the engine counts of itself (docs/monitoring.md). An attempt is counted when it is recorded, once, by the worker that
 * observed it: all workers together count the recorded evidence, but for attempts that a killed worker committed. Disabled
 * endpoints, dead letters and replays are counted when PostgreSQL answers the statement that made them.
 */

import { FailureReason, outcomeOf, type Verdict } from "@posthorn/domain/Verdict"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { collecting } from "@posthorn/telemetry/Collectors"
import { counter, gauge, histogram, SECONDS } from "@posthorn/telemetry/Meters"
import { Effect } from "effect"

const CLASSES = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"] as const
const labelsOf = (
  httpStatus: number | null,
  { failureReason, status }: Pick<Verdict, "status" | "failureReason">
) =>
  [status, CLASSES[httpStatus === null ? 0 : Math.floor(httpStatus / 100)]!, failureReason ?? "none"] as const

const everyOutcome = [
  ...[200, 300, 400, 429, 500].map((httpStatus) => ({ httpStatus, failureReason: null })),
  ...FailureReason.literals
    .filter((reason) => reason !== "http_status")
    .map((failureReason) => ({ httpStatus: null, failureReason }))
].map((seen) => labelsOf(seen.httpStatus, outcomeOf({ ...seen, durationMs: 0, responseBody: null })))

const attempts = counter(
  "posthorn_attempts_total",
  "Attempts that this worker has recorded, by outcome; http_status_class is none when no status arrived, failure_reason is none when it was delivered. Attempts that a killed worker recorded but did not live to count are missing.",
  ["status", "http_status_class", "failure_reason"],
  everyOutcome
)
const durations = histogram(
  "posthorn_attempt_duration_seconds",
  "From the start of an attempt to the end of the receiver's answer, in seconds.",
  SECONDS
)
const waits = histogram(
  "posthorn_delivery_wait_seconds",
  "From the publishing of an event to the start of a delivery's first attempt, in seconds.",
  [...SECONDS, 60, 300, 3_600]
)
const disabledEndpoints = counter(
  "posthorn_endpoints_disabled_total",
  "Endpoints that were disabled by their failures."
)
const deadLetters = counter("posthorn_deliveries_dead_lettered_total", "Deliveries that were given up.")
const replays = counter("posthorn_replay_job_deliveries_total", "Deliveries that replay jobs have made.")

const slots = gauge("posthorn_slots", "The most attempts that this worker makes at once.")
const inFlight = gauge("posthorn_attempts_in_flight", "Attempts that this worker is making.")
const unrecorded = gauge("posthorn_attempts_unrecorded", "Finished attempts that are not recorded yet.")
const waiting = gauge(
  "posthorn_deliveries_in_memory",
  "Due deliveries in this worker's memory that no attempt has begun for."
)
const lanes = gauge("posthorn_lanes", "Endpoints with deliveries in this worker's memory.")
const unreadable = gauge(
  "posthorn_endpoints_unreadable",
  "Endpoints with due deliveries whose secret or request no key of this worker opens."
)
const shards = gauge("posthorn_shards_held", "Shards that this worker holds; all workers together hold 32.")

export const recorded = (observed: Observed, due: number): void => {
  const { at, durationMs, httpStatus, ordinal } = observed
  attempts.add(1, ...labelsOf(httpStatus, observed))
  durations.observe(durationMs / 1000)
  if (ordinal === 1) waits.observe(Math.max(0, at / 1000 - due / 1e6))
}

export const disabled = (count: number): void => disabledEndpoints.add(count)
export const deadLettered = (count: number): void => deadLetters.add(count)
export const replayed = (count: number): void => replays.add(count)

interface Sizes {
  readonly slots: number
  readonly inFlight: number
  readonly unrecorded: number
  readonly waiting: number
  readonly lanes: number
  readonly unreadable: number
  readonly shards: number
}

export const sizes = (now: () => Sizes) =>
  collecting(
    Effect.sync(() => {
      const size = now()
      slots.set(size.slots)
      inFlight.set(size.inFlight)
      unrecorded.set(size.unrecorded)
      waiting.set(size.waiting)
      lanes.set(size.lanes)
      unreadable.set(size.unreadable)
      shards.set(size.shards)
    })
  )
