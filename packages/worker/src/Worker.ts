/** The delivery worker, ready to run (Engine.ts). Any number of them share one database. Its caller waits for `Broken`. */
import { Catalogue } from "@posthorn/catalogue/Catalogue"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import * as DedicatedConnection from "@posthorn/persistence/client/DedicatedConnection"
import * as AlertQueue from "@posthorn/persistence/engine/Alerts"
import * as Queue from "@posthorn/persistence/engine/Queue"
import * as Records from "@posthorn/persistence/engine/Records"
import * as ReplaySteps from "@posthorn/persistence/engine/ReplaySteps"
import * as UnjudgedEvents from "@posthorn/persistence/engine/UnjudgedEvents"
import * as HourlyRollups from "@posthorn/persistence/operations/HourlyRollups"
import * as Retention from "@posthorn/persistence/operations/Retention"
import { EvidenceRepo } from "@posthorn/persistence/repositories/EvidenceRepo"
import { Context, type Effect, Layer } from "effect"
import * as Sender from "./attempt/Sender.ts"
import * as Engine from "./Engine.ts"
import * as Alerts from "./loops/Alerts.ts"
import * as Judging from "./loops/Judging.ts"
import * as Shards from "./ownership/Shards.ts"
import * as Listener from "./polling/Listener.ts"

/** Ends only when a defect has broken the worker. */
export class Broken extends Context.Tag("@posthorn/worker/Broken")<Broken, Effect.Effect<never>>() {}

export const layer = Layer.scoped(Broken, Engine.start).pipe(
  Layer.provide([
    Queue.layer,
    Records.layer,
    ReplaySteps.layer,
    Retention.layer,
    HourlyRollups.layer,
    Sender.layer,
    Shards.layer,
    Listener.layer,
    Layer.provide(Judging.layer, [Catalogue.Default, UnjudgedEvents.layer]),
    Layer.provide(Alerts.layer, [AlertQueue.layer, EvidenceRepo.Default, Sender.layer])
  ]),
  Layer.provide(DatabaseClock.Default),
  Layer.provide(DedicatedConnection.layer)
)
