/** The time for which one shard is this worker's. Taken again after it was lost, it is another term. */
export class LeaseTerm {
  readonly shard: number
  lost = false

  constructor(shard: number) {
    this.shard = shard
  }
}
