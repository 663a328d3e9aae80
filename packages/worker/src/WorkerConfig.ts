/** The worker's settings, as plain data: whoever starts the worker reads the environment. Source: spec §10. */
import { type AllowedTargets, nothingAllowed } from "@posthorn/domain/AllowedTargets"
import type { Proxy } from "@posthorn/egress/Proxy"
import { Context } from "effect"

export interface WorkerSettings {
  /** Slots are `batchSize` × `maxConcurrency`: the most requests in flight. Defaults to 25. */
  readonly batchSize: number
  /** See `batchSize`. Defaults to 4. */
  readonly maxConcurrency: number
  /** Most requests in flight to one endpoint. Defaults to 10. */
  readonly endpointConcurrency: number
  /** The unit of the backoff formula. Defaults to 30,000. */
  readonly retryDelayMs: number
  /** A second of a policy's waits, in milliseconds. Defaults to 1,000; tests shorten it. */
  readonly secondMs?: number
  /** Deadline for connecting, sending and the answer's head. Defaults to 10,000. */
  readonly requestTimeoutMs: number
  /** Most that a policy's `timeoutSeconds` gets. Defaults to 60,000. */
  readonly mostTimeoutMs?: number
  /** Deadline for the answer's body. Defaults to 2,000. */
  readonly bodyTimeoutMs: number
  /** Networks and hosts that may be delivered to although the URL rules refuse them. Defaults to none. */
  readonly allowedTargets: AllowedTargets
  /** Through which all requests go. Defaults to none. */
  readonly proxy: Proxy | null
  /** Posthorn's version, for the user agent. Defaults to 0.0.0. */
  readonly version: string
}

export const defaults: WorkerSettings = {
  batchSize: 25,
  maxConcurrency: 4,
  endpointConcurrency: 10,
  retryDelayMs: 30_000,
  requestTimeoutMs: 10_000,
  bodyTimeoutMs: 2_000,
  allowedTargets: nothingAllowed,
  proxy: null,
  version: "0.0.0"
}

export class WorkerConfig extends Context.Tag("@posthorn/worker/WorkerConfig")<
  WorkerConfig,
  WorkerSettings
>() {}
