/**
 * The schedule of probes: after three attempts in a row of an endpoint that were not delivered, its lane probes, with one
 * attempt at a time and a pause before each that grows with the streak, until one is delivered. Pauses are in units of
 * `DELIVERY_RETRY_DELAY`.
 *
 * Everything that depends on how long a lane may pause is derived from this schedule. Source: spec §3.4.
 */

/** After this many attempts in a row that were not delivered, an endpoint's lane probes. */
export const PROBES_AFTER = 3

/** The longest pause: one unit. */
export const LONGEST_PAUSE_UNITS = 1

const FIRST_PAUSE_UNITS = 1 / 8

/**
 * The pause before an endpoint's next attempt, by the number of attempts in a row that were not delivered: 1/8, 1/4, 1/2, then
 * 1.
 */
export const pauseUnits = (failuresInARow: number): number =>
  failuresInARow < PROBES_AFTER
    ? 0
    : Math.min(LONGEST_PAUSE_UNITS, FIRST_PAUSE_UNITS * 2 ** (failuresInARow - PROBES_AFTER))

/**
 * The least time from the first failure in a row to the last of `failures`, with at most `inFlight` requests at a time: all
 * requests that are in flight when the lane begins to probe may fail, and a pause follows each failure after that.
 */
export const leastUnitsTo = (failuresInARow: number, inFlight: number): number => {
  let units = 0
  for (let failures = PROBES_AFTER - 1 + inFlight; failures < failuresInARow; failures++)
    units += pauseUnits(failures)
  return units
}
