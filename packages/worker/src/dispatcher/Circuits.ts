/** Opens and closes the lanes' circuits by what became of their attempts (Circuit.ts). */
import type { Lane, Waiting } from "./Lane.ts"

interface CircuitsOptions {
  readonly retryDelayMs: number
  readonly later: (milliseconds: number, run: () => void) => void
  readonly isCurrent: (lane: Lane) => boolean
  readonly halfOpen: (lane: Lane) => void
}

export class Circuits {
  private readonly options: CircuitsOptions

  constructor(options: CircuitsOptions) {
    this.options = options
  }

  loaded(lane: Lane, failures: number): void {
    if (lane.circuit.failures === null) this.count(lane, failures)
  }

  /** An attempt from before the endpoint was changed does not delay the next trial. */
  failed({ circuitResets, lane }: Waiting): void {
    if (circuitResets === lane.circuit.resets) this.count(lane, (lane.circuit.failures ?? 0) + 1)
  }

  private count(lane: Lane, inARow: number): void {
    lane.circuit.failed(inARow)
    this.pause(lane)
  }

  pause(lane: Lane): void {
    const { halfOpen, isCurrent, later, retryDelayMs } = this.options
    const pause = lane.circuit.open()
    if (pause === null) return
    later(pause.units * retryDelayMs, () => {
      if (isCurrent(lane) && lane.circuit.endPause(pause.number)) halfOpen(lane)
    })
  }
}
