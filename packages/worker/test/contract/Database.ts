/**
 * What the engine needs of a database, as the suite of this folder uses it: PostgreSQL with the migrations, or the simulation's
 * model. Both must answer alike.
 */
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import type { Queue } from "@posthorn/persistence/engine/Queue"
import type { Observed, Records } from "@posthorn/persistence/engine/Records"
import type { Context, Effect } from "effect"

export interface EndpointRef {
  readonly workspaceId: string
  readonly endpointId: string
  readonly shard: number
}

export interface Database {
  readonly queue: Context.Tag.Service<Queue>
  readonly records: Pick<Context.Tag.Service<Records>, "deadLetter" | "policies" | "record">
  /** In this shard, if the database can choose. */
  readonly endpoint: (shard: number) => Effect.Effect<EndpointRef>
  /** Gives the delivery's id, whose order is the order of publishing. */
  readonly publish: (endpoint: EndpointRef) => Effect.Effect<string>
  /** Lets this many milliseconds pass, and tells the time, in milliseconds since 1970. */
  readonly pass: (ms: number) => Effect.Effect<number>
  /** Enables a disabled endpoint; whether it was one. */
  readonly enable: (endpoint: EndpointRef) => Effect.Effect<boolean>
  readonly disable: (endpoint: EndpointRef) => Effect.Effect<void>
  readonly repolicy: (endpoint: EndpointRef, own: DeliveryPolicy | null) => Effect.Effect<void>
  readonly remove: (endpoint: EndpointRef) => Effect.Effect<void>
  /** Gives the moment up to which the shard's rows are in doubt, in microseconds. */
  readonly take: (shard: number, owner: string) => Effect.Effect<number | null>
  /** The owner goes on when it has lost its shards. */
  readonly showLife: (owner: string) => Effect.Effect<unknown>
  readonly release: (shard: number, owner: string) => Effect.Effect<void>
  /** Whether the shard's doubt is over. */
  readonly clearDoubt: (shard: number, owner: string) => Effect.Effect<boolean>
  /** Of each delivery its status and number of attempts, such as "failed 2". */
  readonly statuses: (deliveries: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
}

/** An attempt of a delivery that failed, unless it says otherwise. */
export const observed = (
  endpoint: EndpointRef,
  deliveryId: string,
  about: Partial<Observed> & Pick<Observed, "at" | "attemptId">
): Observed => {
  const status = about.status ?? "failed"
  return {
    workspaceId: endpoint.workspaceId as Observed["workspaceId"],
    endpointId: endpoint.endpointId as Observed["endpointId"],
    deliveryId: deliveryId as Observed["deliveryId"],
    generation: 0,
    ordinal: 1,
    status,
    durationMs: 1,
    httpStatus: status === "delivered" ? 200 : 500,
    failureReason: status === "delivered" ? null : "http_status",
    failureDetail: null,
    signature: null,
    requestHeaders: null,
    responseBody: null,
    url: "https://example.com/",
    responseHeaders: null,
    rateLimited: false,
    waitMs: null,
    exhausted: false,
    disables: status === "delivered" ? null : { kind: "failures", count: 3 },
    policyVersion: "0",
    ...about
  }
}
