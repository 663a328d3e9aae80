/** The shards that this worker holds, each in a lease term. */
export class LeaseTerm {
  readonly shard: number
  lost = false

  constructor(shard: number) {
    this.shard = shard
  }
}

export class Leases {
  private readonly terms = new Map<number, LeaseTerm>()

  take(shard: number): void {
    this.terms.set(shard, new LeaseTerm(shard))
  }

  lose(shard: number): void {
    const term = this.terms.get(shard)
    if (term !== undefined) term.lost = true
    this.terms.delete(shard)
  }

  owns(shard: number): boolean {
    return this.terms.has(shard)
  }

  termOf(shard: number): LeaseTerm | undefined {
    return this.terms.get(shard)
  }

  get size(): number {
    return this.terms.size
  }

  get all(): ReadonlyArray<LeaseTerm> {
    return [...this.terms.values()]
  }
}
