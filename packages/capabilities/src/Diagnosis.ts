/**
 * Diagnosing an endpoint: gathers the recorded evidence, which the domain's rules then judge.
 *
 * It only reads, and sends nothing to the receiver. The URL is checked by dispatch's own rule, and the secret by trying this
 * process's master keys.
 * Source: spec §4.6.
 */

import { resolve } from "@posthorn/domain/DeliveryPolicy"
import { diagnose } from "@posthorn/domain/diagnosis/Diagnosis"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { describeReason, validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { validityOf } from "@posthorn/egress/ClientCertificate"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { EvidenceRepo } from "@posthorn/persistence/repositories/EvidenceRepo"
import { Effect, Either } from "effect"
import { InstallationPolicy } from "./InstallationPolicy.ts"

export class Diagnoses extends Effect.Service<Diagnoses>()("@posthorn/capabilities/Diagnoses", {
  dependencies: [EvidenceRepo.Default],
  effect: Effect.gen(function* () {
    const evidence = yield* EvidenceRepo
    const box = yield* SecretBox
    const { allowedTargets, mostTimeoutMs, requestTimeoutMs, retryDelayMs } = yield* InstallationPolicy

    const ofEndpoint = Effect.fn("Diagnoses.ofEndpoint")(function* (endpointId: EndpointId) {
      const { workspaceId } = yield* CurrentPrincipal
      const gathered = yield* evidence.gather(workspaceId, endpointId)
      if (gathered === undefined) return yield* new WebhookEndpointNotFound()
      const { certificate, policy, secret, url, workspacePolicy, ...endpoint } = gathered.endpoint
      const inForce = resolve(policy, workspacePolicy, { mostTimeoutMs, requestTimeoutMs, retryDelayMs })
      const secretReadable = opens(box, { workspaceId, endpointId }, secret)
      const urlRefusal = Either.match(validateWebhookUrl(url, allowedTargets), {
        onLeft: describeReason,
        onRight: () => null
      })
      const { findings, health } = diagnose({
        ...gathered,
        requestTimeoutMs: inForce.timeoutSeconds * 1_000,
        retryDelayMs,
        endpoint: {
          ...endpoint,
          certificateExpiresAt: expiryOf(certificate),
          honorsRetryAfter: inForce.honorRetryAfter,
          secretReadable,
          urlRefusal
        }
      })
      const { attempts } = gathered
      return {
        endpointId,
        health,
        diagnosedAt: gathered.now,
        examined: { attempts: attempts.length, since: attempts[attempts.length - 1]?.at ?? null },
        findings
      }
    })

    return { ofEndpoint } as const
  })
}) {}

const expiryOf = (certificate: string | null): string | null => {
  const validity = certificate === null ? null : validityOf(certificate)
  return validity && new Date(validity.to).toISOString()
}

const opens = (
  box: SecretBox["Type"],
  row: { readonly workspaceId: WorkspaceId; readonly endpointId: EndpointId },
  sealed: Uint8Array
) => Either.isRight(box.open(row, sealed))
