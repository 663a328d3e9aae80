/** What every method has: options of a call, and lists. */

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Sees the head of each answer: its `etag`, its rate limits, its `x-trace-id`. The body has been read. */
  readonly onAnswer?: (answer: Response) => void
}

/** The items of all pages. Nothing is asked before the first is wanted. */
export type Listed<Item> = AsyncIterable<Item>
