/** The time in which this worker holds one shard without a break. After a loss, a new term begins. */
export class LeaseTerm {
  readonly shard: number
  lost = false

  constructor(shard: number) {
    this.shard = shard
  }
}
