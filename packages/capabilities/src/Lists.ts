/** What every list is asked with: how many, and from where. Source: spec §8. */
export interface ListQuery {
  readonly limit: number
  readonly cursor?: string | undefined
}
