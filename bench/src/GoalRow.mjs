/** One line of the table of goals. `met` is null when the run does not say. */
export const row = (against, goal, got, met) => ({ against, goal, got, met })

export const two = (value) => (Number.isFinite(value) ? value.toFixed(2) : "?")

export const known = (...values) => values.every((value) => Number.isFinite(value))
