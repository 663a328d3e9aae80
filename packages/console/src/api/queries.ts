/**
 * Operations as React Query's queries and mutations, for the workspace that is signed in to.
 *
 * An ended session and an unreachable server concern the whole page: they are reported to `trouble`, which the shell shows.
 * Content already shown stays.
 */
import {
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient
} from "@tanstack/react-query"
import { useSyncExternalStore } from "react"
import { useSession } from "../session/session.tsx"
import { call, Problem } from "./client.ts"
import type { Answer, ItemOf, OperationName, Request } from "./contract.ts"

type Trouble = "ended" | "away" | null
let trouble: Trouble = null
const listeners = new Set<() => void>()

export const setTrouble = (next: Trouble) => {
  if (trouble === next) return
  trouble = next
  for (const listener of listeners) listener()
}

export const useTrouble = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => trouble
  )

const isAway = (error: unknown) => error instanceof Problem && (error.status === 0 || error.status === 503)

const notice = (error: unknown) => {
  if (error instanceof Problem && error.status === 401) setTrouble("ended")
  else if (isAway(error)) setTrouble("away")
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: notice }),
  mutationCache: new MutationCache({ onError: notice }),
  defaultOptions: {
    queries: { networkMode: "always", staleTime: 2_000, retry: false, refetchOnWindowFocus: true },
    mutations: { networkMode: "always", retry: false, gcTime: 0 }
  }
})

interface Options {
  readonly enabled?: boolean
  /** Refetch interval in milliseconds; hidden pages do not refetch. */
  readonly everyMs?: number | false
}

const LIVE_MS = 4_000
export const live = (on: boolean) => (on ? LIVE_MS : false)

export const useOperation = <N extends OperationName>(
  name: N,
  request: Request<N>,
  { enabled = true, everyMs = false }: Options = {}
) => {
  const { slug } = useSession()
  return useQuery({
    queryKey: [slug, name, request],
    queryFn: ({ signal }) => call(slug, name, request, signal),
    enabled,
    refetchInterval: everyMs
  })
}

/** A list, page after page. */
export const useList = <N extends OperationName>(
  name: N,
  request: Request<N>,
  { enabled = true, everyMs = false }: Options = {}
) => {
  const { slug } = useSession()
  const query = useInfiniteQuery({
    queryKey: [slug, name, request, "list"],
    queryFn: ({ pageParam, signal }) =>
      call(
        slug,
        name,
        { ...request, query: { ...(request as { query?: object }).query, cursor: pageParam } } as Request<N>,
        signal
      ) as Promise<
        Answer<N> & { readonly nextCursor: string | null; readonly items: ReadonlyArray<ItemOf<N>> }
      >,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    enabled,
    refetchInterval: (state) => ((state.state.data?.pages.length ?? 0) > 1 ? false : everyMs)
  })
  const items = query.data?.pages.flatMap((page) => page.items as ReadonlyArray<ItemOf<N>>)
  return { ...query, items }
}

/** A mutation; afterwards everything on the page is fetched again. */
export const useAct = <N extends OperationName>(name: N) => {
  const { slug } = useSession()
  const client = useQueryClient()
  return useMutation<Answer<N>, unknown, Request<N>>({
    mutationFn: (request) => call(slug, name, request),
    onSuccess: () => client.invalidateQueries({ queryKey: [slug] })
  })
}
