/**
 * Whether a series of samples grows: medians, and slopes that a few outliers do not move (Theil and Sen's). The slope is that of
 * the least in each half minute: what lies above comes and goes with the garbage collector, up to 60 MB of it.
 */
import { median } from "../Run.mjs"

/** Of values a minute. The median of the slopes between all pairs that lie a third of the time apart or more. */
export const slopeOf = (points) => {
  const slopes = []
  const apart = (points.at(-1)?.seconds - points[0]?.seconds) / 3
  for (let i = 0; i < points.length; i++)
    for (let j = i + 1; j < points.length; j++) {
      const took = points[j].seconds - points[i].seconds
      if (took >= apart) slopes.push((points[j].value - points[i].value) / (took / 60))
    }
  return median(slopes)
}

const WINDOW_SECONDS = 30

const leastOf = (points) => {
  const windows = new Map()
  for (const point of points) {
    const window = Math.floor((point.seconds - points[0].seconds) / WINDOW_SECONDS)
    const least = windows.get(window)
    if (least === undefined || point.value < least.value) windows.set(window, point)
  }
  return [...windows.values()]
}

export const trend = (points) => ({
  perMinute: slopeOf(leastOf(points)),
  level: median(points.map(({ value }) => value)),
  seconds: points.length === 0 ? 0 : points.at(-1).seconds - points[0].seconds
})
