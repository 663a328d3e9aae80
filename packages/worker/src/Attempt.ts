/**
 * One delivery made ready to send: its URL judged again, its body written, signed at this moment.
 *
 * The body is put together from text: the payload goes out exactly as it was published, never parsed. Keys are opened
 * once per ciphertext and kept in memory; a rotation changes the ciphertext, so nothing has to be invalidated.
 * Source: spec §2.4, §4.1 and §2.1 (validated again at dispatch), decision §7 (Snapshot, Requests).
 */
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import { validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import type { Loaded } from "@posthorn/persistence/Queue"
import { type SecretBox, SecretUnreadable } from "@posthorn/persistence/SecretBox"
import { decodeSecret, signWithKeys } from "@posthorn/signature"
import { Either, Redacted } from "effect"

export interface Prepared {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The headers as JSON, without the opening brace: they are kept with the attempt. Nothing in them needs escaping. */
  readonly evidence: string
}

const KEYS_MOST = 20_000
const URLS_MOST = 20_000

/** `endpointId` is not in what is loaded, because the lane knows it. Throws `SecretUnreadable`. */
export type Prepare = (endpointId: string, loaded: Loaded, unixSeconds: number) => Prepared | "invalid_url"

export const makePrepare = (box: SecretBox["Type"], allowed: AllowedTargets): Prepare => {
  const keyOf = remembering(KEYS_MOST, (_: string, endpointId: string, loaded: Loaded, sealed: Uint8Array) =>
    decodeSecret(Redacted.value(box.open({ workspaceId: loaded.workspaceId, endpointId }, sealed)))
  )
  const judge = remembering(URLS_MOST, (url: string) => Either.getOrNull(validateWebhookUrl(url, allowed)))

  return (endpointId, loaded, unixSeconds) => {
    const url = judge(loaded.url)
    if (url === null) return "invalid_url"
    const key = (sealed: Uint8Array) => keyOf(`${endpointId}${latin1(sealed)}`, endpointId, loaded, sealed)
    const previous = loaded.previousSecret === null ? null : readable(() => key(loaded.previousSecret!))
    const keys = previous === null ? [key(loaded.secret)] : [key(loaded.secret), previous]
    const body = `{"deliveryId":"${loaded.deliveryId}","eventType":"${loaded.eventType}","payload":${loaded.payload}}`
    const id = loaded.deliveryId
    const timestamp = String(unixSeconds)
    const signature = signWithKeys(id, timestamp, body, keys)
    return {
      url,
      body,
      headers: {
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature,
        "x-trace-id": loaded.traceId
      },
      evidence: `"webhook-id":"${id}","webhook-timestamp":"${timestamp}","webhook-signature":"${signature}","x-trace-id":"${loaded.traceId}"}`
    }
  }
}

/** A previous secret that no key opens any more must not hold up what the current one can sign. */
const readable = (open: () => Buffer): Buffer | null => {
  try {
    return open()
  } catch (error) {
    if (error instanceof SecretUnreadable) return null
    throw error
  }
}

const latin1 = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")

/** Keeps the last results by their first argument; forgets the oldest half at once when full. */
const remembering = <A, R extends ReadonlyArray<unknown>>(
  most: number,
  make: (key: string, ...rest: R) => A
) => {
  const results = new Map<string, A>()
  return (key: string, ...rest: R): A => {
    const known = results.get(key)
    if (known !== undefined) return known
    const made = make(key, ...rest)
    if (results.size >= most) {
      let left = most / 2
      for (const old of results.keys()) if (left-- > 0) results.delete(old)
    }
    results.set(key, made)
    return made
  }
}
