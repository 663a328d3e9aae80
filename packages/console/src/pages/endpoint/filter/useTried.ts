/** What a filter would have done with the newest events, asked once the text rests; and what their payloads look like. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { call, callText } from "../../../api/client.ts"
import type { Request } from "../../../api/contract.ts"
import { useSession } from "../../../session/session.tsx"
import { rawMember } from "../../../ui/json.ts"
import { seenIn } from "./draft.ts"

const RESTS_MS = 400

/** Each may have 1 MiB. */
const MOST_PAYLOADS = 8

/** The value once it has not changed for a moment. */
const useRested = <A>(value: A): A => {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), RESTS_MS)
    return () => clearTimeout(timer)
  }, [value])
  return rested
}

/** Without a filter every event passes. While the text is not valid, the last answer stays. */
export const useTried = (text: string, eventTypes: ReadonlyArray<string>, isValid: boolean) => {
  const { may, slug } = useSession()
  const filter = text.trim() === "" ? "{}" : text
  const body = useRested(isValid ? `{"filter":${filter},"eventTypes":${JSON.stringify(eventTypes)}}` : null)
  return useQuery({
    queryKey: [slug, "tryFilter", body],
    queryFn: ({ signal }) => call(slug, "tryFilter", { body } as unknown as Request<"tryFilter">, signal),
    enabled: body !== null && eventTypes.length > 0 && may("tryFilter"),
    staleTime: 10_000,
    placeholderData: keepPreviousData
  })
}

export const useSeen = (eventIds: ReadonlyArray<string>) => {
  const { may, slug } = useSession()
  const ids = eventIds.slice(0, MOST_PAYLOADS)
  const { data = [] } = useQuery({
    queryKey: [slug, "payloads", ids],
    queryFn: async ({ signal }) => {
      const texts = await Promise.all(
        ids.map((eventId) => callText(slug, "getEvent", { path: { eventId } } as never, signal))
      )
      return seenIn(texts.map((text) => rawMember(text, "payload") ?? "null"))
    },
    enabled: ids.length > 0 && may("getEvent"),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData
  })
  return data
}
