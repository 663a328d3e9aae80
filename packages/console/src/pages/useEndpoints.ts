/** The workspace's endpoints, for filters and for naming them in lists. */
import { useList } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"

/** Host and path, which distinguish endpoints. */
export const shortUrl = (url: string) => url.replace(/^https?:\/\//, "").replace(/\/$/, "")

export const useEndpoints = () => {
  const { may } = useSession()
  const { items } = useList(
    "listWebhookEndpoints",
    { query: { limit: 200 } },
    { enabled: may("listWebhookEndpoints") }
  )
  const urls = new Map((items ?? []).map(({ id, url }) => [id, url]))
  const disabled = new Set((items ?? []).filter(({ enabled }) => !enabled).map(({ id }) => id))
  return {
    endpoints: items ?? [],
    /** Waiting deliveries of a disabled endpoint are not sent until it is enabled. */
    isDisabled: (id: string) => disabled.has(id),
    nameOf: (id: string) => {
      const url = urls.get(id)
      return url === undefined ? id : shortUrl(url)
    }
  }
}
