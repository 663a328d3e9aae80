/** The time for which one shard is this worker's. Taken again after it was lost, it is another one. */
export class Tenure {
  readonly shard: number
  /** Up to which row the shard was read; past everything until the first read says what time it is. */
  due = Number.MAX_SAFE_INTEGER
  deliveryId = ""
  /** No read has ended yet that looked at the shard. */
  isNew = true
  lost = false

  constructor(shard: number) {
    this.shard = shard
  }
}
