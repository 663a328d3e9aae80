/** One endpoint, with its filter as it was put: `JSON.parse` would lose digits and the order of members. */
import { useQuery } from "@tanstack/react-query"
import { callText } from "../../api/client.ts"
import type { EndpointDetail } from "../../api/shapes.ts"
import { useSession } from "../../session/session.tsx"
import { rawMember } from "../../ui/json.ts"

export interface ShownEndpoint extends EndpointDetail {
  /** Null without a filter. */
  readonly filterText: string | null
}

export const useEndpoint = (endpointId: string) => {
  const { slug } = useSession()
  return useQuery({
    queryKey: [slug, "getWebhookEndpoint", endpointId, "with its filter"],
    queryFn: async ({ signal }): Promise<ShownEndpoint> => {
      const text = await callText(slug, "getWebhookEndpoint", { path: { endpointId } } as never, signal)
      const filter = rawMember(text, "filter") ?? "null"
      return { ...(JSON.parse(text) as EndpointDetail), filterText: filter === "null" ? null : filter }
    },
    refetchInterval: 5_000
  })
}
