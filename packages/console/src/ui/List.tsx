/** A list with its four states, and a button for its next page. */
import type { UseInfiniteQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Button } from "./Button.tsx"
import { Failed, Loading } from "./States.tsx"
import { type Column, Table } from "./Table.tsx"

type Query<Row> = Pick<
  UseInfiniteQueryResult,
  "error" | "fetchNextPage" | "hasNextPage" | "isFetchingNextPage" | "isPlaceholderData" | "refetch"
> & { readonly items: ReadonlyArray<Row> | undefined }

export const List = <Row extends { readonly id: string }>({
  label,
  query,
  columns,
  empty,
  more = "Show older"
}: {
  label: string
  query: Query<Row>
  columns: ReadonlyArray<Column<Row>>
  /** Shown if the list is empty: no match, or nothing at all. */
  empty: ReactNode
  /** What the button for the next page says. */
  more?: string
}) => {
  const { error, fetchNextPage, hasNextPage, isFetchingNextPage, isPlaceholderData, items, refetch } = query
  if (items === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  if (items.length === 0 && !hasNextPage) return empty
  return (
    <div className={isPlaceholderData ? "opacity-60 transition-opacity" : ""} aria-busy={isPlaceholderData}>
      {items.length === 0 ? (
        <p className="px-5 py-6 text-sm text-soft">Nothing among the newest; older ones may match.</p>
      ) : (
        <Table label={label} columns={columns} rows={items} />
      )}
      {hasNextPage ? (
        <div className="grid justify-items-center border-t p-3">
          <Button small isDisabled={isFetchingNextPage} onPress={() => fetchNextPage()}>
            {isFetchingNextPage ? "Loading …" : more}
          </Button>
        </div>
      ) : null}
    </div>
  )
}
