/**
 * All workspaces, for the operator: who has a backlog, and whose endpoints fail.
 *
 * Sessions of the console belong to one workspace, so this page has none. It calls the API with the operator's token, which it
 * holds in memory only: a reload asks for it again. Source: spec §5.2.
 */
import { useInfiniteQuery, useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { Problem, send } from "../api/client.ts"
import type { Answer, ItemOf } from "../api/contract.ts"
import { Brand } from "../session/Brand.tsx"
import { useWelcome } from "../session/useWelcome.ts"
import { Button } from "../ui/Button.tsx"
import { TextField } from "../ui/Field.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { Refusal } from "../ui/States.tsx"
import type { Column } from "../ui/Table.tsx"
import { span } from "../ui/Time.tsx"

type Row = ItemOf<"listFleet">

const LIVE_MS = 5_000

const ask = async (token: string, path: string, init: RequestInit = {}) =>
  (
    await send(path, {
      ...init,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }
    })
  ).json()

const useFleet = (token: string) => {
  const query = useInfiniteQuery({
    queryKey: ["fleet", token],
    queryFn: ({ pageParam, signal }): Promise<Answer<"listFleet">> =>
      ask(token, `/fleet${pageParam === undefined ? "" : `?cursor=${encodeURIComponent(pageParam)}`}`, {
        signal
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    enabled: token !== "",
    gcTime: 0,
    refetchInterval: ({ state }) => (state.error === null ? LIVE_MS : false)
  })
  return { ...query, items: query.data?.pages.flatMap(({ items }) => items) }
}

/** A link that signs this browser in to one workspace. */
const useOpen = (token: string) =>
  useMutation({
    mutationFn: async (slug: string) => {
      const { url } = await ask(token, `/workspaces/${slug}/console-links`, {
        method: "POST",
        body: JSON.stringify({ role: "admin" })
      })
      location.assign(url)
    }
  })

const sentence = (error: unknown) =>
  error instanceof Problem && (error.status === 401 || error.status === 403)
    ? new Error("This is not an operator’s token that is valid here. It is one of those in OPERATOR_TOKEN.")
    : error

const number = (value: number) =>
  value === 0 ? <span className="text-faint">0</span> : value.toLocaleString()

const columns = (open: (slug: string) => void, busy: boolean): ReadonlyArray<Column<Row>> => [
  {
    head: "Workspace",
    narrow: "first",
    cell: ({ name, slug }) => (
      <span>
        <bdi className="font-medium">{name}</bdi> <span className="font-mono text-xs text-faint">{slug}</span>
      </span>
    )
  },
  { head: "Waiting", cell: ({ waiting }) => number(waiting) },
  {
    head: "Oldest waits",
    cell: ({ oldestWaitingSeconds }) => (oldestWaitingSeconds === null ? "–" : span(oldestWaitingSeconds))
  },
  { head: "Endpoints", cell: ({ endpoints }) => number(endpoints.total) },
  { head: "Failing", cell: ({ endpoints }) => number(endpoints.failing) },
  { head: "Disabled", cell: ({ endpoints }) => number(endpoints.disabled) },
  {
    head: "Open",
    hideHead: true,
    narrow: "end",
    cell: ({ name, slug }) => (
      <Button small isDisabled={busy} onPress={() => open(slug)} aria-label={`Open ${name}`}>
        Open
      </Button>
    )
  }
]

export const Fleet = () => {
  const { data: welcome } = useWelcome()
  const [typed, setTyped] = useState("")
  const [token, setToken] = useState("")
  const fleet = useFleet(token)
  const open = useOpen(token)
  const refusal = fleet.error ?? open.error
  return (
    <main>
      <Page
        title="Workspaces"
        about="Those with the most waiting deliveries first."
        back={welcome === undefined ? undefined : <Brand brand={welcome.brand} />}
      >
        {fleet.items === undefined ? (
          <form
            className="grid max-w-sm gap-4"
            onSubmit={(event) => {
              event.preventDefault()
              setToken(typed.trim())
            }}
          >
            <TextField
              label="Operator’s token"
              value={typed}
              onChange={setTyped}
              type="password"
              mono
              autoFocus
              about="Kept in this page only, until it is closed or reloaded."
            />
            <Refusal error={refusal === null ? null : sentence(refusal)} />
            <Button
              type="submit"
              look="primary"
              isDisabled={fleet.isFetching || typed.trim() === ""}
              className="h-9"
            >
              Show workspaces
            </Button>
          </form>
        ) : (
          <div className="grid gap-4">
            <Refusal error={refusal === null ? null : sentence(refusal)} />
            <Card flush>
              <List
                label="Workspaces"
                query={fleet}
                more="Show more"
                columns={columns(open.mutate, open.isPending)}
                empty={<p className="px-5 py-5 text-sm text-soft">There is no workspace yet.</p>}
              />
            </Card>
          </div>
        )}
      </Page>
    </main>
  )
}
