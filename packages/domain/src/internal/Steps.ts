/** Next steps of a diagnosis: an operation, what to give it, and why. A test holds the names against the contract. */

export interface NextStep {
  readonly operation: string
  /** Its MCP tool. */
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Arguments only the caller can know. */
  readonly fillIn: ReadonlyArray<string>
  readonly why: string
}

const step =
  (operation: string, tool: string) =>
  (args: Readonly<Record<string, unknown>>, why: string, ...fillIn: ReadonlyArray<string>): NextStep => ({
    operation,
    tool,
    arguments: args,
    fillIn,
    why
  })

export const update = step("updateWebhookEndpoint", "update_webhook_endpoint")
export const sendTest = step("sendTestEvent", "send_webhook_test_event")
export const rotate = step("rotateWebhookSecret", "rotate_webhook_secret")
export const replay = step("replayWebhookDelivery", "replay_webhook_delivery")
export const publish = step("publishEvent", "publish_event")
export const listAttempts = step("listWebhookDeliveryAttempts", "list_webhook_delivery_attempts")
export const listDeliveries = step("listWebhookDeliveries", "list_webhook_deliveries")
export const readEndpoint = step("getWebhookEndpoint", "get_webhook_endpoint")

/** At the evidence itself. */
export const look = (deliveryId: string): NextStep =>
  listAttempts({ deliveryId }, "Shows what was sent and what came back.")

export const everyStep: ReadonlyArray<NextStep> = [
  update,
  sendTest,
  rotate,
  replay,
  publish,
  listAttempts,
  listDeliveries,
  readEndpoint
].map((make) => make({}, ""))
