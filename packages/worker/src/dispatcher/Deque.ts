/** A double-ended queue in constant time: `Array.shift` moves every element of a long array. */
export class Deque<A> {
  private items: Array<A | undefined> = []
  private head = 0

  get length(): number {
    return this.items.length - this.head
  }

  push(item: A): void {
    this.items.push(item)
  }

  unshift(item: A): void {
    if (this.head === 0) this.items.unshift(item)
    else this.items[--this.head] = item
  }

  get first(): A | undefined {
    return this.items[this.head]
  }

  shift(): A | undefined {
    if (this.length === 0) return undefined
    const item = this.items[this.head]
    this.items[this.head++] = undefined
    if (this.head === this.items.length) this.clear()
    else if (this.head > 1024 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head)
      this.head = 0
    }
    return item
  }

  pop(): A | undefined {
    return this.length === 0 ? undefined : this.items.pop()
  }

  remove(item: A): void {
    const place = this.items.lastIndexOf(item)
    if (place >= this.head) this.items.splice(place, 1)
  }

  clear(): void {
    this.items = []
    this.head = 0
  }

  takeAll(): Array<A> {
    const all = this.items.slice(this.head) as Array<A>
    this.clear()
    return all
  }
}
