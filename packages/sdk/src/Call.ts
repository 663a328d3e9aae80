/** What every method has: options of a call, and lists. */

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Sees each answer before it is read: its `etag`, its rate limits, its `x-trace-id`. */
  readonly onAnswer?: (answer: Response) => void
}

/** The items of all pages. Nothing is asked before the first is wanted. */
export type Listed<Item> = AsyncIterable<Item>
