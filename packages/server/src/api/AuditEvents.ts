/** Who changed what. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { AuditEvents } from "@posthorn/capabilities/AuditEvents"
import { Effect, Layer } from "effect"

export const auditEventsLive = HttpApiBuilder.group(Api, "auditEvents", (handlers) =>
  Effect.map(AuditEvents, (audit) =>
    handlers
      .handle("listAuditEvents", ({ urlParams }) => audit.list(withDefaults(urlParams)))
      .handle("listOperatorAuditEvents", ({ urlParams }) => audit.listOperator(withDefaults(urlParams)))
  )
).pipe(Layer.provide(AuditEvents.Default))
