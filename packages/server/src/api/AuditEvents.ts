/** Who changed what. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { filled } from "@posthorn/api-contract/Wire"
import { AuditEvents } from "@posthorn/capabilities/AuditEvents"
import { Effect, Layer } from "effect"

export const auditEventsLive = HttpApiBuilder.group(Api, "auditEvents", (handlers) =>
  Effect.map(AuditEvents, (audit) =>
    handlers
      .handle("listAuditEvents", ({ urlParams }) => audit.list(filled(urlParams)))
      .handle("listOperatorAuditEvents", ({ urlParams }) => audit.listOperator(filled(urlParams)))
  )
).pipe(Layer.provide(AuditEvents.Default))
