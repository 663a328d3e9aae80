/** Hourly charts: bars of delivered, retrying and given up. Screen readers get a table. */
export interface Hour {
  readonly hour: string
  readonly delivered: number
  readonly failed: number
  readonly failedPermanent: number
  readonly deadLettered: number
}

const lost = (hour: Hour) => hour.failedPermanent + hour.deadLettered
const total = (hour: Hour) => hour.delivered + hour.failed + lost(hour)
const clock = (hour: string) => new Date(hour).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" })

const Bars = ({
  hours,
  width,
  height,
  gap,
  radius
}: {
  hours: ReadonlyArray<Hour>
  width: number
  height: number
  gap: number
  radius: number
}) => {
  const most = Math.max(1, ...hours.map(total))
  const step = width / hours.length
  return hours.map((hour, index) => {
    const parts = [
      { count: hour.delivered, color: "fill-good-bar" },
      { count: hour.failed, color: "fill-warn-bar" },
      { count: lost(hour), color: "fill-bad-bar" }
    ]
    let top = height
    const x = index * step + gap / 2
    const wide = Math.max(1, step - gap)
    if (total(hour) === 0)
      return (
        <rect key={hour.hour} x={x} y={height - 1} width={wide} height={1} className="fill-line-strong" />
      )
    return (
      <g key={hour.hour}>
        <title>{`${clock(hour.hour)}: ${hour.delivered} delivered, ${hour.failed} retrying, ${lost(hour)} given up`}</title>
        <rect
          x={index * step}
          y={0}
          width={step}
          height={height}
          className="fill-transparent hover:fill-hover"
        />
        {parts.map(({ color, count }) => {
          // Even a small part stays visible beside the others.
          const tall = count === 0 ? 0 : Math.max(1.5, (count / most) * (height - 4))
          top -= tall
          return tall === 0 ? null : (
            <rect
              key={color}
              x={x}
              y={Math.max(0, top)}
              width={wide}
              height={tall}
              rx={radius}
              className={color}
            />
          )
        })}
      </g>
    )
  })
}

export const Sparkline = ({ hours }: { hours: ReadonlyArray<Hour> }) => {
  const counts = hours.reduce(
    (sum, hour) => ({ good: sum.good + hour.delivered, bad: sum.bad + hour.failed + lost(hour) }),
    {
      good: 0,
      bad: 0
    }
  )
  return (
    <svg
      viewBox="0 0 120 24"
      preserveAspectRatio="none"
      role="img"
      aria-label={`Last 24 hours: ${counts.good} delivered, ${counts.bad} not`}
      className="h-6 w-30"
    >
      <Bars hours={hours} width={120} height={24} gap={1.5} radius={0.5} />
    </svg>
  )
}

const Legend = ({ color, children }: { color: string; children: string }) => (
  <span className="inline-flex items-center gap-1.5">
    <span className={`size-2 rounded-xs ${color}`} aria-hidden="true" />
    {children}
  </span>
)

export const HourChart = ({ hours }: { hours: ReadonlyArray<Hour> }) => {
  const most = Math.max(1, ...hours.map(total))
  return (
    <figure>
      <p className="text-end text-xs text-faint tabular-nums" aria-hidden="true">
        {hours.some((hour) => total(hour) > 0) ? `${most.toLocaleString()} an hour` : "none"}
      </p>
      <div className="relative h-44" aria-hidden="true">
        <div className="absolute inset-x-0 top-1 border-t border-dashed" />
        <svg
          viewBox="0 0 720 172"
          preserveAspectRatio="none"
          className="absolute inset-0 size-full"
          aria-hidden="true"
        >
          <Bars hours={hours} width={720} height={172} gap={9} radius={0} />
        </svg>
      </div>
      <div className="mt-2 flex justify-between text-xs text-faint" aria-hidden="true">
        {[0, 6, 12, 18, hours.length - 1].map((index) => (
          <span key={index}>
            {hours[index] === undefined ? "" : index === hours.length - 1 ? "now" : clock(hours[index].hour)}
          </span>
        ))}
      </div>
      <figcaption className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-xs text-soft">
        <Legend color="bg-good-bar">Delivered</Legend>
        <Legend color="bg-warn-bar">Retrying</Legend>
        <Legend color="bg-bad-bar">Given up or refused</Legend>
      </figcaption>
      <div className="sr-only">
        <table>
          <caption>Deliveries of the last 24 hours by the hour they were made in</caption>
          <thead>
            <tr>
              <th scope="col">Hour</th>
              <th scope="col">Delivered</th>
              <th scope="col">Retrying</th>
              <th scope="col">Given up or refused</th>
            </tr>
          </thead>
          <tbody>
            {hours.map((hour) => (
              <tr key={hour.hour}>
                <th scope="row">{clock(hour.hour)}</th>
                <td>{hour.delivered}</td>
                <td>{hour.failed}</td>
                <td>{lost(hour)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}
