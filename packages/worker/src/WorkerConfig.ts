/** The worker's settings, as plain data: whoever starts the worker reads the environment. Source: spec §10. */
import { type AllowedTargets, nothingAllowed } from "@posthorn/domain/AllowedTargets"
import type { Proxy } from "@posthorn/egress/Proxy"
import { Context } from "effect"

export interface WorkerSettings {
  /** Slots are `batchSize` × `maxConcurrency`: the most requests in flight. */
  readonly batchSize: number
  readonly maxConcurrency: number
  /** Most requests in flight to one endpoint. */
  readonly endpointConcurrency: number
  readonly retryDelayMs: number
  /** A second of a policy's waits, in milliseconds: 1,000, shorter in tests. */
  readonly secondMs?: number
  /** Deadline for connecting, sending and the answer's head. */
  readonly requestTimeoutMs: number
  /** Most that a policy's `timeoutSeconds` gets. */
  readonly mostTimeoutMs?: number
  /** Deadline for the answer's body. */
  readonly bodyTimeoutMs: number
  readonly allowedTargets: AllowedTargets
  readonly proxy: Proxy | null
  /** For the user agent. */
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
