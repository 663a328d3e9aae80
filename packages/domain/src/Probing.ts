/**
 * How a lane that fails probes: after three attempts of an endpoint in a row that were not delivered, one attempt at a time,
 * with a pause before each that grows with the streak, until one is delivered. In units of `DELIVERY_RETRY_DELAY`.
 *
 * The one schedule of probes. What depends on how long a lane may pause is derived from it. Source: spec §3.4.
 */

/** Attempts of an endpoint in a row that were not delivered, after which its lane probes. */
export const PROBES_AFTER = 3

/** The longest pause: one unit. */
export const LONGEST_PAUSE_UNITS = 1

const FIRST_PAUSE_UNITS = 1 / 8

/** The pause before an endpoint's next attempt, after so many in a row that were not delivered: 1/8, 1/4, 1/2, then 1. */
export const pauseUnits = (failuresInARow: number): number =>
  failuresInARow < PROBES_AFTER
    ? 0
    : Math.min(LONGEST_PAUSE_UNITS, FIRST_PAUSE_UNITS * 2 ** (failuresInARow - PROBES_AFTER))

/**
 * The least time from the first failure in a row to so many of them, with at most `inFlight` requests at a time: what is in flight
 * when the lane begins to probe may all fail, and a pause follows each failure after that.
 */
export const leastUnitsTo = (failuresInARow: number, inFlight: number): number => {
  let units = 0
  for (let failures = PROBES_AFTER - 1 + inFlight; failures < failuresInARow; failures++)
    units += pauseUnits(failures)
  return units
}
