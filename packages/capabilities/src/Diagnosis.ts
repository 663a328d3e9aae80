/**
 * Diagnosing an endpoint: gathers the recorded evidence, which the domain's rules then judge.
 *
 * It only reads, and sends nothing to the receiver. The URL is checked by dispatch's own rule, and the secret by trying this
 * process's master keys.
 * Source: spec §4.6.
 */

import { diagnose } from "@posthorn/domain/diagnosis/Diagnosis"
import { evidenceOf } from "@posthorn/domain/diagnosis/Recorded"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import { type EndpointId, firstIdAt, type WorkspaceId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { validityOf } from "@posthorn/egress/ClientCertificate"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { EvidenceRepo } from "@posthorn/persistence/repositories/EvidenceRepo"
import { Array as Arr, Effect, Either } from "effect"
import { FilterJudge } from "./FilterJudge.ts"
import { InstallationPolicy } from "./InstallationPolicy.ts"
import { hiddenFrom } from "./OwnEvents.ts"

const DAY_MS = 86_400_000
const EXAMINED = 200

export class Diagnoses extends Effect.Service<Diagnoses>()("@posthorn/capabilities/Diagnoses", {
  dependencies: [EvidenceRepo.Default, FilterJudge.Default],
  effect: Effect.gen(function* () {
    const evidence = yield* EvidenceRepo
    const box = yield* SecretBox
    const judges = yield* FilterJudge
    const installation = yield* InstallationPolicy

    /** What its filter makes of the newest events of the last 24 hours. What the caller may not see does not count. */
    const filteredBy = Effect.fnUntraced(function* (
      filter: string,
      eventTypes: ReadonlyArray<string>,
      now: string
    ) {
      const { permissions } = yield* CurrentPrincipal
      const judge = yield* judges.begin
      const since = firstIdAt("event", Date.parse(now) - DAY_MS)
      const newest = yield* judge.newest(eventTypes, hiddenFrom(permissions), EXAMINED)
      const judged = yield* judge
        .compiled(Either.getOrThrow(parseFilter(filter)))
        .judge(newest.filter(({ id }) => id >= since))
      const conditions = Arr.groupBy(
        judged.flatMap(({ because }) => because ?? []),
        ({ condition, path }) => `${path} ${condition.text}`
      )
      const [mostOften] = Object.values(conditions)
        .toSorted((one, other) => other.length - one.length)
        .map(([{ condition, path }]) => ({ path, condition: condition.text }))
      return {
        filter: new JsonText(filter),
        examined: judged.length,
        matching: judged.filter(({ matches }) => matches).length,
        mostOften: mostOften ?? null
      }
    })

    const ofEndpoint = Effect.fn("Diagnoses.ofEndpoint")(function* (endpointId: EndpointId) {
      const principal = yield* CurrentPrincipal
      const { workspaceId } = principal
      const gathered = yield* evidence.gather(principal, endpointId)
      if (gathered === undefined) return yield* new WebhookEndpointNotFound()
      const { certificate, filter, secret, ...endpoint } = gathered.endpoint
      const { findings, health } = diagnose(
        evidenceOf({ ...gathered, endpoint }, installation, {
          certificateExpiresAt: expiryOf(certificate),
          filtered: filter === null ? null : yield* filteredBy(filter, endpoint.eventTypes, gathered.now),
          secretReadable: opens(box, { workspaceId, endpointId }, secret)
        })
      )
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
