/** Webhook endpoints: registering, changing and removing them. Source: spec §2.1, §3, §4.2 and §3.4. */
import { createHash } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { type DeliveryPolicy, resolve } from "@posthorn/domain/DeliveryPolicy"
import {
  InvalidWebhookUrl,
  invalid,
  LimitReached,
  PreconditionFailed,
  WebhookEndpointNotFound,
  WorkspaceNotFound
} from "@posthorn/domain/Errors"
import { type EndpointId, newId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import { byId } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { isSignedByKeyPair, type SentRequestProfile } from "@posthorn/domain/RequestProfile"
import { readKeys, signingKeyOf, takenOver, writeKeys } from "@posthorn/domain/SigningSecret"
import { validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import {
  type EndpointDetailRow,
  type EndpointFilter,
  type EndpointRow,
  type EndpointSettings,
  EndpointsRepo,
  type SealedKeys
} from "@posthorn/persistence/repositories/EndpointsRepo"
import { EventsRepo } from "@posthorn/persistence/repositories/EventsRepo"
import { WorkspacesRepo } from "@posthorn/persistence/repositories/WorkspacesRepo"
import { generateKeyPair, generateSecret, PUBLIC_KEY_PREFIX } from "@posthorn/signature"
import { withCheapSpan } from "@posthorn/telemetry/Tracing"
import { Effect, Either, Redacted } from "effect"
import { changedFields, pick, type Sent } from "./Changes.ts"
import { filterIn } from "./FilterJudge.ts"
import { InstallationPolicy } from "./InstallationPolicy.ts"
import { type ListQuery, listPast } from "./Lists.ts"
import { type EndpointKey, isElsewhere, RequestProfiles, type StoredRequest } from "./RequestProfiles.ts"
import { transactional } from "./Transaction.ts"

/** A filter as it was put; the text `null` removes it. */
type SentFilter = JsonText | null | undefined

export interface NewEndpoint {
  readonly url: string
  readonly eventTypes: ReadonlyArray<string>
  readonly description?: string | null | undefined
  readonly externalId?: string | null | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly policy?: DeliveryPolicy | null | undefined
  readonly request?: SentRequestProfile | null | undefined
  readonly filter?: SentFilter
  /** The secret that its receiver knows already. */
  readonly signingSecret?: Redacted.Redacted | undefined
  readonly signingSecretEncoding?: "text" | undefined
  /** Whether the answer shows the secret that is made. */
  readonly revealSecret: boolean
  readonly enabled: boolean
}

export interface EndpointChanges extends Sent<Omit<EndpointSettings, "request">> {
  readonly request?: SentRequestProfile | null | undefined
}

interface EndpointQuery extends ListQuery, EndpointFilter {}

/** Checks that the endpoint is still what the caller has read; undefined if the caller set no condition. */
type Precondition = ((present: EndpointSettings) => boolean) | undefined

/** 10 ms, during which its publishers wait. */
const REMOVED_AT_ONCE = 200

export const UNREADABLE = "No ENCRYPTION_KEY opens the endpoint's secret: rotate it first"

const NO_REQUEST: StoredRequest = { request: null, requestSecrets: null }

const SETTINGS = [
  "url",
  "eventTypes",
  "description",
  "externalId",
  "metadata",
  "policy",
  "request",
  "filter",
  "enabled"
] as const satisfies ReadonlyArray<keyof EndpointSettings>

/** The filter that is stored; undefined if none was sent. */
const filterOf = (sent: SentFilter) => {
  if (sent === undefined) return Either.right(undefined)
  if (sent === null || sent.text.trim() === "null") return Either.right(null)
  return Either.map(filterIn(sent), ({ text }) => new JsonText(text))
}

/** Settings for the audit log: a certificate as its fingerprint. */
const audited = <A extends Sent<EndpointSettings>>(settings: A) => {
  const authentication = settings.request?.authentication
  if (authentication?.kind !== "mtls" || authentication.certificate === undefined) return settings
  const { certificate, ...shown } = authentication
  const sha256 = createHash("sha256").update(certificate).digest("hex")
  return { ...settings, request: { ...settings.request, authentication: { ...shown, certificate: sha256 } } }
}

export class Endpoints extends Effect.Service<Endpoints>()("@posthorn/capabilities/Endpoints", {
  dependencies: [
    AuditEventsRepo.Default,
    EndpointsRepo.Default,
    EventsRepo.Default,
    RequestProfiles.Default,
    WorkspacesRepo.Default
  ],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditEventsRepo
    const endpoints = yield* EndpointsRepo
    const events = yield* EventsRepo
    const box = yield* SecretBox
    const requests = yield* RequestProfiles
    const workspaces = yield* WorkspacesRepo
    const { allowedTargets, limits, mostTimeoutMs, requestTimeoutMs, retryDelayMs } =
      yield* InstallationPolicy

    /** With its policy as it holds, and its public key if the pair signs. */
    const detail = ({ publicKey, workspacePolicy, ...endpoint }: EndpointDetailRow) => ({
      ...endpoint,
      effectivePolicy: resolve(endpoint.policy, workspacePolicy, {
        mostTimeoutMs,
        requestTimeoutMs,
        retryDelayMs
      }),
      publicKey:
        publicKey !== null && isSignedByKeyPair(endpoint.request)
          ? PUBLIC_KEY_PREFIX + publicKey.toString("base64")
          : null
    })

    const checkUrl = (url: string) =>
      Either.mapLeft(validateWebhookUrl(url, allowedTargets), (reason) => new InvalidWebhookUrl({ reason }))

    /** A secret that is taken over, or a new one, as it is sealed. */
    const firstSecret = ({ revealSecret, signingSecret, signingSecretEncoding }: NewEndpoint) => {
      if (revealSecret && signingSecret !== undefined)
        return Effect.fail(invalid("/revealSecret", "Not beside signingSecret"))
      if (signingSecret === undefined)
        return signingSecretEncoding === undefined
          ? Effect.sync(() => Redacted.make(generateSecret()))
          : Effect.fail(invalid("/signingSecret", "Needed beside signingSecretEncoding"))
      const key = signingKeyOf(Redacted.value(signingSecret), signingSecretEncoding)
      return key === undefined
        ? Effect.fail(invalid("/signingSecret", "Expected the base64 of 24 to 64 bytes after whsec_"))
        : Effect.succeed(Redacted.make(takenOver(key)))
    }

    const sealed = (row: EndpointKey, secret: Redacted.Redacted, withKeyPair: boolean): SealedKeys => {
      const pair = withKeyPair ? generateKeyPair() : null
      const keys = writeKeys({ secret: Redacted.value(secret), privateKey: pair?.privateKey ?? null })
      return {
        secret: box.seal(row, Redacted.make(keys)),
        publicKey: pair && Buffer.from(pair.publicKey.slice(PUBLIC_KEY_PREFIX.length), "base64")
      }
    }

    /** Makes the key pair of an endpoint that has none yet. Once made it is kept, also while it does not sign. */
    const ensureKeyPair = (endpointId: EndpointId) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const row = { workspaceId: principal.workspaceId, endpointId }
        const present = yield* endpoints.lockKeys(principal, endpointId)
        if (present === undefined || present.publicKey !== null) return
        const keys = yield* Either.mapLeft(box.open(row, present.secret), () =>
          invalid("/request/signatures", UNREADABLE)
        )
        const secret = Redacted.make(readKeys(Redacted.value(keys)).secret)
        yield* endpoints.setKeyPair(principal, endpointId, sealed(row, secret, true))
      })

    const create = (sent: NewEndpoint) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const { workspaceId } = principal
        const url = yield* checkUrl(sent.url)
        const filter = (yield* filterOf(sent.filter)) ?? null
        const signingSecret = yield* firstSecret(sent)
        const isSeen = sent.revealSecret || sent.signingSecret !== undefined
        const workspace = yield* workspaces.hold(workspaceId)
        if (workspace === undefined) return yield* new WorkspaceNotFound()
        const limit = workspace.limits.endpoints ?? limits.endpoints
        if ((yield* endpoints.count(workspaceId)) >= limit)
          return yield* new LimitReached({ limit, of: "endpoints" })
        const id = newId("endpoint")
        const row = { workspaceId, endpointId: id }
        const request = yield* requests.next(row, NO_REQUEST, sent.request, false)
        const endpoint = yield* endpoints.insert(workspaceId, {
          ...request,
          ...sealed(row, signingSecret, isSignedByKeyPair(request.request)),
          id,
          url,
          description: sent.description ?? null,
          eventTypes: sent.eventTypes,
          externalId: sent.externalId ?? null,
          metadata: sent.metadata ?? {},
          policy: sent.policy ?? null,
          filter,
          enabled: sent.enabled
        })
        yield* audit.append(principal, "webhook.endpoint_created", ["webhook_endpoint", id], {
          fields: isSeen ? [...SETTINGS, "signingSecret"] : SETTINGS,
          to: { url: endpoint.url, ...(endpoint.externalId !== null && pick(endpoint, ["externalId"])) }
        })
        return sent.revealSecret ? { ...endpoint, signingSecret: Redacted.value(signingSecret) } : endpoint
      }).pipe(transactional(sql), Effect.withSpan("Endpoints.create"))

    const list = Effect.fn("Endpoints.list")(function* (query: EndpointQuery) {
      const principal = yield* CurrentPrincipal
      return yield* listPast(byId, query, (from, limit) => endpoints.list(principal, limit, from, query))
    })

    const get = (endpointId: EndpointId) =>
      Effect.flatMap(CurrentPrincipal, (principal) =>
        Effect.filterOrFail(
          endpoints.findDetail(principal, endpointId),
          (found) => found !== undefined,
          () => new WebhookEndpointNotFound()
        )
      ).pipe(Effect.map(detail), withCheapSpan("Endpoints.get"))

    const record = (
      action: "webhook.endpoint_updated" | "webhook.endpoint_deleted",
      id: EndpointId,
      fields: ReadonlyArray<string>,
      facts: Readonly<Record<string, unknown>> = {}
    ) =>
      Effect.flatMap(CurrentPrincipal, (principal) =>
        audit.append(principal, action, ["webhook_endpoint", id], { fields, ...facts })
      )

    const change = (present: EndpointRow, sent: Sent<EndpointSettings>, requestSecrets: Buffer | null) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const fields = changedFields<EndpointSettings>(present, sent)
        if (fields.length === 0) return
        yield* endpoints.update(
          principal,
          present,
          Object.assign({ ...present }, pick(sent, fields)),
          requestSecrets
        )
        yield* record("webhook.endpoint_updated", present.id, fields, {
          from: audited(pick(present, fields)),
          to: audited(pick(sent, fields))
        })
        if (!fields.includes("enabled") || sent.enabled !== false) return
        const payload = { endpointId: present.id, reason: "manual" } as const
        yield* events.announce(principal, { type: "webhook.endpoint_disabled", payload }, present.id)
      })

    const hold = (endpointId: EndpointId, precondition: Precondition) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const present = yield* endpoints.lockForUpdate(principal, endpointId)
        if (present === undefined) return yield* new WebhookEndpointNotFound()
        if (precondition?.(present) === false) return yield* new PreconditionFailed()
        return present
      })

    /** The request that is sent, with the secrets that are kept of the present one. */
    const requestOf = (present: EndpointRow, sent: EndpointChanges, url: string) =>
      Effect.gen(function* () {
        const isMoved = isElsewhere(url, present.url)
        if (sent.request === undefined && !isMoved) return { request: undefined, requestSecrets: null }
        const principal = yield* CurrentPrincipal
        const { workspaceId } = principal
        const requestSecrets = yield* endpoints.requestSecrets(principal, present.id)
        const stored = { request: present.request, requestSecrets }
        return yield* requests.next({ workspaceId, endpointId: present.id }, stored, sent.request, isMoved)
      })

    /** The URL is validated first, so that a bad one changes nothing. Source: spec §3.2 and §4. */
    const update = (endpointId: EndpointId, sent: EndpointChanges, precondition?: Precondition) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const present = yield* hold(endpointId, precondition)
        const url = sent.url === undefined ? undefined : yield* checkUrl(sent.url)
        const filter = yield* filterOf(sent.filter)
        const { request, requestSecrets } = yield* requestOf(present, sent, url ?? present.url)
        if (request !== undefined && isSignedByKeyPair(request)) yield* ensureKeyPair(endpointId)
        yield* change(present, { ...sent, url, request, filter }, requestSecrets)
        return detail((yield* endpoints.findDetail(principal, endpointId))!)
      }).pipe(transactional(sql), Effect.withSpan("Endpoints.update"))

    /**
     * Deletes it with its deliveries and attempts. The worker removes a long history afterwards, in steps: 600,000 deliveries take
     * 30 s. While a publisher's transaction is open the endpoint cannot be deleted.
     */
    const remove = (endpointId: EndpointId, precondition?: Precondition) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        yield* endpoints.lockForRemoval(principal, endpointId)
        const present = yield* hold(endpointId, precondition)
        if (!(yield* endpoints.remove(principal.workspaceId, endpointId, REMOVED_AT_ONCE)))
          return yield* new WebhookEndpointNotFound()
        yield* record("webhook.endpoint_deleted", endpointId, [], { from: { url: present.url } })
      }).pipe(transactional(sql), Effect.withSpan("Endpoints.remove"))

    /** The old secret and key pair also sign for 24 hours. Source: spec §3.3. */
    const rotateSecret = (endpointId: EndpointId) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const { workspaceId } = principal
        const present = yield* endpoints.lockKeys(principal, endpointId)
        if (present === undefined) return yield* new WebhookEndpointNotFound()
        const hasKeyPair = present.publicKey !== null
        const signingSecret = generateSecret()
        const keys = sealed({ workspaceId, endpointId }, Redacted.make(signingSecret), hasKeyPair)
        const rotated = yield* endpoints.rotate(principal, endpointId, keys)
        yield* audit.append(principal, "webhook.secret_rotated", ["webhook_endpoint", endpointId], {
          fields: hasKeyPair ? ["signingSecret", "publicKey"] : ["signingSecret"],
          previousSecretExpiresAt: rotated.previousSecretExpiresAt
        })
        return { endpointId, signingSecret, previousSecretExpiresAt: rotated.previousSecretExpiresAt }
      }).pipe(transactional(sql), Effect.withSpan("Endpoints.rotateSecret"))

    return { create, get, list, remove, rotateSecret, update } as const
  })
}) {}
