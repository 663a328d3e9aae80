/**
 * A list as a table, navigated with `j`, `k` and Enter. Each row's first cell has a real link, so it can be opened in a new
 * tab. On a narrow screen each row is a card whose cells show their names.
 */
import type { ReactNode } from "react"

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  readonly className?: string
  /** For people with a screen reader only. */
  readonly hideHead?: boolean
  /** On a narrow screen: without its name, at the right of the first line, or hidden. */
  readonly narrow?: "plain" | "first" | "end" | "hide"
}

export const Table = <Row extends { readonly id: string }>({
  label,
  columns,
  rows
}: {
  label: string
  columns: ReadonlyArray<Column<Row>>
  rows: ReadonlyArray<Row>
}) => (
  <div className="overflow-x-auto">
    <table className="stacks w-full border-collapse text-start text-sm" aria-label={label}>
      <thead>
        <tr className="border-b">
          {columns.map(({ className = "", head, hideHead }) => (
            <th
              key={head}
              scope="col"
              className={`h-9 px-3 text-start text-xs font-medium whitespace-nowrap text-faint first:ps-5 last:pe-5 ${className}`}
            >
              {hideHead ? <span className="sr-only">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr
            key={row.id}
            data-row
            className="border-b last:border-b-0 hover:bg-hover has-[:focus-visible]:bg-hover"
          >
            {columns.map(({ cell, className = "", head, hideHead, narrow }) => (
              <td
                key={head}
                {...(hideHead || narrow !== undefined ? {} : { "data-label": head })}
                data-narrow={narrow}
                className={`h-11 px-3 first:ps-5 last:pe-5 ${className}`}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
