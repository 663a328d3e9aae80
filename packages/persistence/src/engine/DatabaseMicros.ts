/**
 * Moments by the database's clock, in microseconds since 1970. Branded, so that the monotonic milliseconds of a process
 * (`telemetry/Elapsed`) are never taken for one.
 */
import { Brand, Schema } from "effect"

export const DatabaseMicros = Schema.NonNegativeInt.pipe(Schema.brand("DatabaseMicros"))
export type DatabaseMicros = typeof DatabaseMicros.Type

export const databaseMicros = Brand.nominal<DatabaseMicros>()

export const earliest = (...moments: ReadonlyArray<DatabaseMicros>): DatabaseMicros =>
  databaseMicros(Math.min(...moments))
