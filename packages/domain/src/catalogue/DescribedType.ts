/** What the catalogue says of an event type, as documents and generated types need it. */
import type { JsonSchema } from "./JsonSchema.ts"

export interface DescribedType {
  readonly eventType: string
  readonly description: string | null
  readonly group: string | null
  readonly schema: JsonSchema | null
  readonly examples: ReadonlyArray<unknown>
  readonly deprecated: boolean
  readonly replacedBy: string | null
}
