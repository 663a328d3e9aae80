/** The exporter, in a file of its own so that it is read only when it is used: it brings an HTTP client along. */
export { otlpLive } from "@posthorn/telemetry/Otlp"
