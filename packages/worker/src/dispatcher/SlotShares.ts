/**
 * The slots in use, by workspace. A workspace leaves twice as many slots free as it uses, but at most a tenth of all. So a
 * workspace with few requests in flight always finds a slot, whatever hangs elsewhere, and a workspace that is alone can use
 * nine tenths.
 */
const SHARE_LEFT = 10
const LEFT_FOR_EACH = 2

/** The most slots that one workspace has to leave to others. */
export const reserveOf = (slots: number): number => Math.floor(slots / SHARE_LEFT)

/** Whether a workspace that uses `taken` slots may take one more of the free ones. */
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

  /** Whether it uses so few slots that it may take one more although others may not. */
  isSmall({ sending }: Taker): boolean {
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
