/** One attempt as it is stored: what was seen of it, and the verdict. */
import { newId } from "@posthorn/domain/Ids"
import type { Observation, Verdict } from "@posthorn/domain/Verdict"
import type { Observed } from "@posthorn/persistence/engine/Records"
import type { Sent } from "../dispatcher/Dispatched.ts"
import type { Pace } from "../dispatcher/Lane.ts"
import type { PreparedRequest } from "./PrepareRequest.ts"

export const paceOf = (seen: Observation): Pace =>
  seen.httpStatus !== null ? "faster" : seen.failureReason === "request_timeout" ? "slower" : "same"

/** `prepared` is null without a request. Written out: Node 20 takes a microsecond for a spread before other members. */
export const observedOf = (
  { content, row }: Sent,
  at: number,
  prepared: PreparedRequest | null,
  seen: Observation,
  verdict: Verdict
): Observed => ({
  workspaceId: row.workspaceId,
  deliveryId: row.deliveryId,
  endpointId: row.endpointId,
  generation: content.endpoint.generation,
  ordinal: row.attempts + 1,
  attemptId: newId("attempt"),
  at,
  durationMs: seen.durationMs,
  httpStatus: seen.httpStatus,
  responseBody: seen.responseBody,
  url: prepared?.url ?? content.endpoint.url,
  responseHeaders: seen.responseHeaders ?? null,
  signature: prepared?.evidence.signature ?? null,
  requestHeaders: prepared?.evidence.requestHeaders ?? null,
  rateLimited: row.startedAt !== null,
  status: verdict.status,
  failureReason: verdict.failureReason,
  failureDetail: seen.failureDetail ?? null,
  waitMs: verdict.waitMs,
  exhausted: verdict.exhausted,
  disables: verdict.disables,
  policyVersion: content.endpoint.policy.version
})
