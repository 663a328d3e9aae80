/** The exporter, in a separate file so that it, and its HTTP client, are loaded only when used. */
export { otlpLive } from "@posthorn/telemetry/Otlp"
