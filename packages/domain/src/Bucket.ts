/** Rate-limit buckets; each operation declares one. Source: spec §8; quotas: spec §8.1. */
import { Schema } from "effect"

export const Bucket = Schema.Literal(
  "rest_read",
  "rest_write",
  "assistant",
  "filter_try",
  "mcp",
  "event_publish",
  "auth_failure"
)
export type Bucket = typeof Bucket.Type

/** Calls per window, in seconds. */
export interface Quota {
  readonly limit: number
  readonly windowSeconds: number
}

export const defaultQuotas: Record<Bucket, Quota> = {
  rest_read: { limit: 600, windowSeconds: 60 },
  rest_write: { limit: 120, windowSeconds: 60 },
  assistant: { limit: 30, windowSeconds: 60 },
  filter_try: { limit: 300, windowSeconds: 60 },
  mcp: { limit: 120, windowSeconds: 60 },
  event_publish: { limit: 60_000, windowSeconds: 60 },
  auth_failure: { limit: 60, windowSeconds: 60 }
}
