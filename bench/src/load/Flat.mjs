/** Whether a series of samples grows: slopes that a few outliers do not move (Theil and Sen's), and medians. */
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

export const trend = (points) => ({
  perMinute: slopeOf(points),
  level: median(points.map(({ value }) => value)),
  seconds: points.length === 0 ? 0 : points.at(-1).seconds - points[0].seconds
})
