/**
 * Prepares one delivery for sending: validates its URL again, writes its body, and signs it with the current time.
 *
 * The body is put together from text: the payload goes out exactly as it was published, never parsed. URLs are validated and
 * keys decrypted once for each endpoint object. A changed endpoint (a new secret or URL) is a new object, so nothing has to be
 * invalidated.
 * Source: spec §2.4, §4.1 and §2.1 (validated again at dispatch), §3.4 (Snapshot, Requests).
 */
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import { requestBody } from "@posthorn/domain/RequestBody"
import { validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { type SecretBox, SecretUnreadable } from "@posthorn/persistence/client/SecretBox"
import type { Content, DispatchEndpoint, DueRow, LaneRef } from "@posthorn/persistence/engine/Queue"
import { decodeSecret, signWithKeys } from "@posthorn/signature"
import { Either, Redacted } from "effect"
import type { Resolve } from "./Policies.ts"

export interface Prepared {
  readonly workspaceId: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly requestTimeoutMs: number
  /** As in the headers. It is stored with the attempt; the other headers can be derived from the attempt. */
  readonly signature: string
}

/** Throws `SecretUnreadable`. */
export type Prepare = (row: DueRow, content: Content, unixSeconds: number) => Prepared | "invalid_url"

/** What is derived from an endpoint once. */
interface Target {
  readonly url: string
  /** The current key first. */
  readonly keys: ReadonlyArray<Buffer>
  readonly requestTimeoutMs: number
}

export const makePrepare = (box: SecretBox["Type"], allowed: AllowedTargets, resolve: Resolve): Prepare => {
  const targets = new WeakMap<DispatchEndpoint, Target | "invalid_url">()

  const targetOf = (lane: LaneRef, endpoint: DispatchEndpoint): Target | "invalid_url" => {
    const known = targets.get(endpoint)
    if (known !== undefined) return known
    const target = aim(lane, endpoint)
    targets.set(endpoint, target)
    return target
  }

  const aim = ({ endpointId, workspaceId }: LaneRef, endpoint: DispatchEndpoint): Target | "invalid_url" => {
    const url = Either.getOrNull(validateWebhookUrl(endpoint.url, allowed))
    if (url === null) return "invalid_url"
    const open = (sealed: Uint8Array) =>
      decodeSecret(Redacted.value(box.open({ workspaceId, endpointId }, sealed)))
    const { previousSecret, secret } = endpoint
    const previous = previousSecret === null ? null : readable(() => open(previousSecret))
    const requestTimeoutMs = resolve(endpoint.policy).timeoutSeconds * 1_000
    return { url, requestTimeoutMs, keys: previous === null ? [open(secret)] : [open(secret), previous] }
  }

  return (row, { endpoint, eventType, isTest, payload, traceId }, unixSeconds) => {
    const target = targetOf(row, endpoint)
    if (target === "invalid_url") return target
    const id = row.deliveryId
    const body = requestBody(id, eventType, payload)
    const timestamp = String(unixSeconds)
    const signature = signWithKeys(id, timestamp, body, target.keys)
    return {
      workspaceId: row.workspaceId,
      url: target.url,
      requestTimeoutMs: target.requestTimeoutMs,
      body,
      signature,
      headers: {
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature,
        "x-trace-id": traceId,
        ...(isTest && { "x-posthorn-test": "true" })
      }
    }
  }
}

/** The previous secret, or null if no master key opens it any more: the current secret still signs. */
const readable = (open: () => Buffer): Buffer | null => {
  try {
    return open()
  } catch (error) {
    if (error instanceof SecretUnreadable) return null
    throw error
  }
}
