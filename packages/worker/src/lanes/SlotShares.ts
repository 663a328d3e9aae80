/**
 * The slots that are taken, by workspace. A workspace leaves twice as many free as it has itself, up to a tenth of all: so
 * some are always within reach of those that have few in flight, whatever hangs elsewhere, and one that is alone has nine
 * tenths of them.
 */
const SHARE_LEFT = 10
const LEFT_FOR_EACH = 2

/** How many slots one workspace at most has to leave to the others. */
export const reserveOf = (slots: number): number => Math.floor(slots / SHARE_LEFT)

/** Whether a workspace that has `taken` may take one more of those that are free. */
export const mayTake = (free: number, taken: number, reserve: number): boolean =>
  free > Math.min(reserve, LEFT_FOR_EACH * taken)

/** A workspace, and how many slots it has. */
export interface Taker {
  sending: number
}

export class SlotShares {
  private readonly all: number
  private readonly reserve: number
  taken = 0

  constructor(all: number) {
    this.all = all
    this.reserve = reserveOf(all)
  }

  get free(): number {
    return this.all - this.taken
  }

  readonly open = ({ sending }: Taker): boolean => mayTake(this.free, sending, this.reserve)

  /** Whether it has so few that it may take one more although others must not. */
  isModest({ sending }: Taker): boolean {
    return LEFT_FOR_EACH * sending < this.reserve
  }

  take(taker: Taker): void {
    this.taken++
    taker.sending++
  }

  release(taker: Taker): void {
    this.taken--
    taker.sending--
  }
}
