/**
 * Validates a delivery's URL again, and makes its request as the endpoint's profile says, signed with the current time.
 *
 * The payload goes out as it was published, never parsed. Keys are decrypted once for each endpoint object, and a changed
 * endpoint is a new object. Evidence is made from the profile alone, so it has no secret. Source: spec §2.4, §2.9, §4.1, §2.1,
 * §3.4 (Snapshot, Requests).
 */
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import { outgoing, planOf, type RequestPlan, type Signers } from "@posthorn/domain/OutgoingRequest"
import { RequestProfile } from "@posthorn/domain/RequestProfile"
import {
  type Headers,
  hiddenIn,
  RequestSecrets,
  sentHeaders,
  shownHeaders
} from "@posthorn/domain/RequestSecrets"
import { hmacKeysOf, readKeys } from "@posthorn/domain/SigningSecret"
import type { Observation } from "@posthorn/domain/Verdict"
import { validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { concealedIn } from "@posthorn/egress/Concealment"
import { openOrThrow, type SecretBox, SecretUnreadable } from "@posthorn/persistence/client/SecretBox"
import type { Content, DispatchEndpoint, DueRow, LaneRef } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { decodePrivateKey, type SigningKey, signWithKeys, signWithRecipe } from "@posthorn/signature"
import { Data, Either, Option, Redacted, Schema } from "effect"
import { authenticationOf, NONE, type RequestAuthentication } from "./Authentication.ts"
import type { Resolve } from "./Policies.ts"

export interface PreparedRequest {
  readonly workspaceId: string
  readonly url: string
  readonly headers: Headers
  readonly body: string
  readonly requestTimeoutMs: number
  readonly evidence: Evidence
  /** Hides the request's secrets in an answer that repeats them; null if there are none. */
  readonly conceal: Conceal | null
  readonly authentication: RequestAuthentication
}

type Conceal = (seen: Observation, token: Redacted.Redacted | null) => Observation

/** What is recorded of a request, without the headers that all requests carry. */
type Evidence = Pick<Observed, "signature" | "requestHeaders">

/** Throws `SecretUnreadable` and `ProfileUnreadable`. */
export type Prepare = (row: DueRow, content: Content, unixSeconds: number) => PreparedRequest | "invalid_url"

export class ProfileUnreadable extends Data.TaggedError("ProfileUnreadable")<{
  readonly endpointId: string
}> {
  override get message() {
    return `The request of ${this.endpointId} cannot be read: update this worker.`
  }
}

interface Target {
  readonly url: string
  readonly requestTimeoutMs: number
  readonly plan: RequestPlan
  readonly signers: Signers
  readonly own: {
    readonly sent: Headers
    readonly shown: Headers
    readonly conceal: Conceal
    readonly authentication: RequestAuthentication
  } | null
}

const STANDARD = planOf({})

const readProfile = Schema.decodeUnknownOption(Schema.parseJson(RequestProfile))
const readSecrets = Schema.decodeUnknownOption(Schema.parseJson(RequestSecrets))

export const makePrepare = (
  box: SecretBox["Type"],
  allowed: AllowedTargets,
  resolve: Resolve,
  fixedHeaders: Headers
): Prepare => {
  const targets = new WeakMap<DispatchEndpoint, Target | "invalid_url">()

  const targetOf = (lane: LaneRef, endpoint: DispatchEndpoint): Target | "invalid_url" => {
    const known = targets.get(endpoint)
    if (known !== undefined) return known
    const target = aim(lane, endpoint)
    targets.set(endpoint, target)
    return target
  }

  const aim = (lane: LaneRef, endpoint: DispatchEndpoint): Target | "invalid_url" => {
    const url = Either.getOrNull(validateWebhookUrl(endpoint.url, allowed))
    if (url === null) return "invalid_url"
    const requestTimeoutMs = resolve(endpoint.policy).timeoutSeconds * 1_000
    if (endpoint.request === null) {
      const signers = signersOf(lane, endpoint, STANDARD)
      return { url, requestTimeoutMs, plan: STANDARD, signers, own: null }
    }
    const profile = readable(lane, readProfile(endpoint.request))
    const plan = planOf(profile)
    const signers = signersOf(lane, endpoint, plan)
    const secrets = secretsOf(lane, endpoint)
    const [sent, shown] = [sentHeaders(profile, secrets), shownHeaders(profile)]
    const hidden = hiddenIn(sent, shown, secrets)
    const conceal: Conceal = (seen, token) =>
      concealedIn(
        seen,
        token === null ? hidden : [[Redacted.value(token).trim(), shown.authorization ?? ""], ...hidden]
      )
    const own = { sent, shown, conceal, authentication: authenticationOf(profile, secrets, allowed) }
    return { url, requestTimeoutMs, plan, signers, own }
  }

  const signersOf = (
    { endpointId, workspaceId }: LaneRef,
    { previousSecret, secret }: DispatchEndpoint,
    { schemes }: RequestPlan
  ): Signers => {
    const open = (sealed: Uint8Array) => {
      const { privateKey, secret } = readKeys(
        Redacted.value(openOrThrow(box, { workspaceId, endpointId }, sealed))
      )
      const hmac = hmacKeysOf(secret)
      const pair = privateKey === null ? [] : [decodePrivateKey(privateKey)]
      const standard = schemes.flatMap(
        (scheme): ReadonlyArray<SigningKey> => (scheme === "standard_v1" ? [hmac.standard] : pair)
      )
      return { recipe: hmac.recipe, standard }
    }
    const current = open(secret)
    const previous = previousSecret === null ? null : unlessLost(() => open(previousSecret))
    const keys = [...current.standard, ...(previous?.standard ?? [])]
    return {
      standard: ({ body, id, timestamp }) => signWithKeys(id, timestamp, body, keys),
      hmac: (recipe, signed) => signWithRecipe(recipe, signed, current.recipe)
    }
  }

  const secretsOf = ({ endpointId, workspaceId }: LaneRef, { requestSecrets }: DispatchEndpoint) =>
    requestSecrets === null
      ? null
      : readable(
          { endpointId },
          readSecrets(
            Redacted.value(openOrThrow(box, { workspaceId, endpointId, of: "request" }, requestSecrets))
          )
        )

  return (row, { createdAt, endpoint, eventType, isTest, payload, traceId }, unixSeconds) => {
    const target = targetOf(row, endpoint)
    if (target === "invalid_url") return target
    const { own, plan, requestTimeoutMs, signers, url } = target
    const { deliveryId, workspaceId } = row
    const content = {
      deliveryId,
      eventType,
      payload,
      isTest,
      traceId,
      createdAt: createdAt ?? "",
      slug: endpoint.slug
    }
    const { body, headers } = outgoing(plan, content, String(unixSeconds), signers)
    const evidence =
      own === null
        ? { signature: headers["webhook-signature"]!, requestHeaders: null }
        : {
            signature: null,
            requestHeaders: JSON.stringify({ ...fixedHeaders, ...own.shown, ...headers })
          }
    return {
      workspaceId,
      url,
      headers: own === null ? headers : { ...own.sent, ...headers },
      body,
      requestTimeoutMs,
      evidence,
      conceal: own === null ? null : own.conceal,
      authentication: own === null ? NONE : own.authentication
    }
  }
}

/** An error of the schema itself would repeat what it read. */
const readable = <A>({ endpointId }: Pick<LaneRef, "endpointId">, read: Option.Option<A>): A =>
  Option.getOrThrowWith(read, () => new ProfileUnreadable({ endpointId }))

/** The previous secret, or null if no master key opens it any more: the current secret still signs. */
const unlessLost = <A>(open: () => A): A | null => {
  try {
    return open()
  } catch (error) {
    if (error instanceof SecretUnreadable) return null
    throw error
  }
}
