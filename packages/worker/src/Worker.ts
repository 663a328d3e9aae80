/**
 * The delivery worker, ready to run: any number of them, on any number of machines, share one database.
 * What it does: Engine.ts. Closing the layer stops it: no further attempts, those in flight are finished and recorded.
 */
import * as DedicatedConnection from "@posthorn/persistence/DedicatedConnection"
import * as Queue from "@posthorn/persistence/Queue"
import * as Records from "@posthorn/persistence/Records"
import * as ReplaySteps from "@posthorn/persistence/ReplaySteps"
import * as Retention from "@posthorn/persistence/Retention"
import { Layer } from "effect"
import * as Engine from "./Engine.ts"
import * as Receiver from "./Receiver.ts"
import * as Shards from "./Shards.ts"
import * as Wakeups from "./Wakeups.ts"

export const layer = Layer.scopedDiscard(Engine.start).pipe(
  Layer.provide([
    Queue.layer,
    Records.layer,
    ReplaySteps.layer,
    Retention.layer,
    Receiver.layer,
    Shards.layer,
    Wakeups.layer
  ]),
  Layer.provide(DedicatedConnection.layer)
)
