/**
 * The worker's settings, as plain data: whoever starts the worker reads the environment. Defaults: spec §10.
 */
import { type AllowedTargets, nothingAllowed } from "@posthorn/domain/AllowedTargets"
import { Context } from "effect"

export interface WorkerSettings {
  /** With `maxConcurrency`: at most their product of requests in flight. */
  readonly batchSize: number
  readonly maxConcurrency: number
  /** Most requests in flight to one endpoint. */
  readonly endpointConcurrency: number
  /** The unit of the backoff formula. */
  readonly retryDelayMs: number
  readonly requestTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly allowedTargets: AllowedTargets
  /** Of Posthorn, for the user agent. */
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
  version: "0.0.0"
}

export class WorkerConfig extends Context.Tag("@posthorn/worker/WorkerConfig")<
  WorkerConfig,
  WorkerSettings
>() {}
