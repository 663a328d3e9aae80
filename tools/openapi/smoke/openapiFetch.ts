/** The client that openapi-typescript and openapi-fetch make, against a live server. */
import createClient from "openapi-fetch"
import type { paths } from "../generated/openapi.ts"
import { check } from "./check.ts"

export const openapiFetch = async (baseUrl: string, operatorToken: string) => {
  const as = (token: string) =>
    createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })
  const slug = "openapi-fetch"
  const path = { slug }
  const operator = as(operatorToken)
  const workspace = await operator.POST("/workspaces", { body: { slug, name: "Smoke" } })
  check("createWorkspace", workspace.data?.slug === slug)
  const created = await operator.POST("/workspaces/{slug}/api-tokens", {
    params: { path },
    body: { name: "smoke", scopes: ["admin"] }
  })
  const client = as(created.data?.token ?? "")
  const endpoint = await client.POST("/workspaces/{slug}/webhooks", {
    params: { path },
    body: { url: "https://example.com/webhooks", eventTypes: ["invoice.*"] }
  })
  const endpointId = endpoint.data?.id ?? ""
  check("createWebhookEndpoint", endpointId.startsWith("whe_"))
  const published = await client.POST("/workspaces/{slug}/events", {
    params: { path },
    body: { eventType: "invoice.paid", payload: { id: 7 } }
  })
  check("publishEvent", published.data?.deliveryIds.length === 1)
  const page = await client.GET("/workspaces/{slug}/webhooks/{endpointId}/deliveries", {
    params: { path: { slug, endpointId }, query: { limit: 10, eventType: "invoice.paid" } }
  })
  check(
    "listWebhookDeliveries",
    page.data?.items[0]?.id === published.data?.deliveryIds[0] && page.data?.nextCursor === null
  )
  const givenUp = await client.GET("/workspaces/{slug}/webhooks/{endpointId}/deliveries", {
    params: { path: { slug, endpointId }, query: { status: "dead_lettered" } }
  })
  check("listWebhookDeliveries by status", givenUp.data?.items.length === 0)
  const missing = await client.GET("/workspaces/{slug}/webhooks/deliveries/{deliveryId}", {
    params: { path: { slug, deliveryId: "whd_0" } }
  })
  check("a typed refusal", missing.error?._tag === "WebhookDeliveryNotFound" && missing.error.status === 404)
  const gone = await client.DELETE("/workspaces/{slug}/webhooks/{endpointId}", {
    params: { path: { slug, endpointId } }
  })
  check("deleteWebhookEndpoint", gone.response.status === 204)
}
