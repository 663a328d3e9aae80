/** The workspace's endpoints, for filters and for naming them in lists. */
import { useList } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"

/** Host and path: what tells endpoints apart. */
export const shortUrl = (url: string) => url.replace(/^https?:\/\//, "").replace(/\/$/, "")

export const useEndpoints = () => {
  const { may } = useSession()
  const { items } = useList(
    "listWebhookEndpoints",
    { query: { limit: 200 } },
    { enabled: may("listWebhookEndpoints") }
  )
  const urls = new Map((items ?? []).map(({ id, url }) => [id, url]))
  return {
    endpoints: items ?? [],
    nameOf: (id: string) => {
      const url = urls.get(id)
      return url === undefined ? id : shortUrl(url)
    }
  }
}
