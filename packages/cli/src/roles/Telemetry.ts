/** Telemetry of `dev`, `run`, `serve` and `work`: meters of the process, and OTLP if a collector is configured. */
import type { OtlpOptions } from "@posthorn/telemetry/Otlp"
import { processMeters } from "@posthorn/telemetry/ProcessMeters"
import { Effect, Layer, Option } from "effect"
import type { Settings } from "../settings/Settings.ts"
import { VERSION } from "../Version.ts"

const exporting = (options: OtlpOptions) =>
  Layer.unwrapEffect(
    Effect.map(
      Effect.promise(() => import("@posthorn/telemetry/Otlp")),
      ({ otlpLive }) => otlpLive(options)
    )
  )

/** Only what requests it is traced, such as calls and attempts: spans cost CPU, and polling would make thousands. */
export const telemetryOf = (
  { otlpEndpoint, otlpHeaders: headers, otlpServiceName: serviceName }: Settings,
  role: "dev" | "run" | "serve" | "work"
) =>
  Layer.mergeAll(
    Layer.scopedDiscard(processMeters(VERSION, role)),
    Layer.setTracerEnabled(false),
    Option.match(otlpEndpoint, {
      onNone: () => Layer.empty,
      onSome: (endpoint) => exporting({ endpoint, headers, serviceName, role, version: VERSION })
    })
  )
