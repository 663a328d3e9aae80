/** The functions that oazapfts makes, against a live server. */
import * as api from "../generated/oazapfts.ts"
import { check } from "./check.ts"

export const oazapfts = async (baseUrl: string, operatorToken: string) => {
  const slug = "oazapfts"
  const use = (token: string) => {
    api.defaults.baseUrl = baseUrl
    api.defaults.headers = { authorization: `Bearer ${token}` }
  }
  use(operatorToken)
  const workspace = await api.createWorkspace({ slug, name: "Smoke" })
  check("createWorkspace", workspace.status === 201 && workspace.data.slug === slug)
  const created = await api.createApiToken(slug, { name: "smoke", scopes: ["admin"] })
  if (created.status !== 201) throw new Error("createApiToken")
  use(created.data.token)
  const endpoint = await api.createWebhookEndpoint(slug, {
    url: "https://example.com/webhooks",
    eventTypes: ["invoice.*"]
  })
  if (endpoint.status !== 201) throw new Error("createWebhookEndpoint")
  const published = await api.publishEvent(slug, { eventType: "invoice.paid", payload: { id: 7 } })
  check("publishEvent", published.status === 202 && published.data.deliveryIds.length === 1)
  const page = await api.listWebhookDeliveries(slug, endpoint.data.id, {
    limit: 10,
    eventType: "invoice.paid"
  })
  check("listWebhookDeliveries", page.status === 200 && page.data.items[0]?.eventType === "invoice.paid")
  const givenUp = await api.listWebhookDeliveries(slug, endpoint.data.id, { status: "dead_lettered" })
  check("listWebhookDeliveries by status", givenUp.status === 200 && givenUp.data.items.length === 0)
  const missing = await api.getWebhookDelivery(slug, "whd_0")
  check("a typed refusal", missing.status === 404 && missing.data._tag === "WebhookDeliveryNotFound")
  const gone = await api.deleteWebhookEndpoint(slug, endpoint.data.id)
  check("deleteWebhookEndpoint", gone.status === 204)
}
