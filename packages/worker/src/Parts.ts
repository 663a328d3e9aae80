/** What the engine's loops are made of. */

import type { Tokens } from "@posthorn/egress/Tokens"
import type { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import type { Queue } from "@posthorn/persistence/engine/Queue"
import type { Records } from "@posthorn/persistence/engine/Records"
import type { Clock } from "effect"
import type { Resolve } from "./attempt/Policies.ts"
import type { Prepare } from "./attempt/PrepareRequest.ts"
import type { Sender } from "./attempt/Sender.ts"
import type { UnreadableEndpoints } from "./attempt/UnreadableEndpoints.ts"
import type { Settled } from "./dispatcher/Dispatched.ts"
import type { Dispatcher } from "./dispatcher/Dispatcher.ts"
import type { Ownership } from "./ownership/Ownership.ts"
import type { PollInbox } from "./polling/PollInbox.ts"
import type { TuningValues } from "./Tuning.ts"

export interface Parts {
  readonly dispatcher: Dispatcher
  readonly inbox: PollInbox
  readonly queue: Queue["Type"]
  readonly records: Records["Type"]
  readonly sender: Sender["Type"]
  readonly ownership: Ownership["Type"]
  readonly prepare: Prepare
  readonly tokens: Tokens
  readonly resolve: Resolve
  readonly unreadable: UnreadableEndpoints
  /** Undefined without an exporter. */
  readonly trace: ((settled: Settled) => void) | undefined
  readonly slots: number
  readonly later: (milliseconds: number, run: () => void) => void
  readonly tuning: TuningValues
  readonly clock: Clock.Clock
  readonly databaseClock: DatabaseClock
}

export type PollerParts = Pick<Parts, "queue" | "dispatcher" | "inbox" | "tuning" | "clock">
