/** What was told by e-mail and Slack. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { Alerts } from "@posthorn/capabilities/Alerts"
import { Effect, Layer } from "effect"

export const alertsLive = HttpApiBuilder.group(Api, "alerts", (handlers) =>
  Effect.map(Alerts, (alerts) =>
    handlers.handle("listAlerts", ({ urlParams }) => alerts.list(withDefaults(urlParams)))
  )
).pipe(Layer.provide(Alerts.Default))
