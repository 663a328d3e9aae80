/** The workspace's endpoints, for filters and for naming them in lists. */
import { useList } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { shortUrl } from "../ui/shortUrl.ts"
import { type Trying, usePolicies } from "./policies.ts"

export const useEndpoints = () => {
  const { may } = useSession()
  const { items } = useList(
    "listWebhookEndpoints",
    { query: { limit: 200 } },
    { enabled: may("listWebhookEndpoints"), everyMs: 15_000 }
  )
  const policyOf = usePolicies()
  const byId = new Map((items ?? []).map((one) => [one.id as string, one]))
  return {
    endpoints: items ?? [],
    /** Undefined when it is unknown, or beyond the first 200. */
    find: (id: string): Trying | undefined => {
      const one = byId.get(id)
      return one && { ...one, effectivePolicy: policyOf(one.policy) }
    },
    nameOf: (id: string) => {
      const one = byId.get(id)
      return one === undefined ? id : shortUrl(one.url)
    }
  }
}
