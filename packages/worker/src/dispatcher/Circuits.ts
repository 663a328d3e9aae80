/** Opens and closes the lanes' circuits by what became of their attempts (Circuit.ts). */
import type { Lane, Waiting } from "./Lane.ts"

interface CircuitsOptions {
  readonly retryDelayMs: number
  readonly later: (milliseconds: number, run: () => void) => void
  /** Whether the lane is still in memory. */
  readonly isCurrent: (lane: Lane) => boolean
  /** The lane's circuit is half-open: its trial may be picked. */
  readonly halfOpen: (lane: Lane) => void
}

export class Circuits {
  private readonly options: CircuitsOptions

  constructor(options: CircuitsOptions) {
    this.options = options
  }

  /** The database has told how many attempts in a row were not delivered. */
  loaded(lane: Lane, failures: number): void {
    if (lane.circuit.failures === null) this.count(lane, failures)
  }

  /** An attempt that was picked before its endpoint was changed says nothing about it: the next trial does not wait for it. */
  failed({ circuitResets, lane }: Waiting): void {
    if (circuitResets === lane.circuit.resets) this.count(lane, (lane.circuit.failures ?? 0) + 1)
  }

  private count(lane: Lane, inARow: number): void {
    lane.circuit.failed(inARow)
    this.pause(lane)
  }

  /** Before its next trial, unless the circuit is closed. */
  pause(lane: Lane): void {
    const { halfOpen, isCurrent, later, retryDelayMs } = this.options
    const pause = lane.circuit.open()
    if (pause === null) return
    later(pause.units * retryDelayMs, () => {
      if (isCurrent(lane) && lane.circuit.endPause(pause.number)) halfOpen(lane)
    })
  }
}
