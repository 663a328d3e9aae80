/** The operator's part of alerts: where they lead, how they look, and the server that takes e-mail. The cli reads it. */
import { Context, type Redacted } from "effect"

export interface Smtp {
  readonly host: string
  readonly port: number
  /** TLS from the first byte; by STARTTLS, or nothing is sent; none. */
  readonly security: "tls" | "starttls" | "none"
  readonly login: { readonly user: string; readonly password: Redacted.Redacted } | null
  /** Who sends. Without a name it is the installation's. */
  readonly from: { readonly name: string | null; readonly address: string }
  /** Certificate authorities to trust instead of Node's own, in PEM: for tests. */
  readonly ca?: string
}

export interface AlertSettings {
  /** Defaults to Posthorn. */
  readonly name: string
  /** `#rrggbb`. Defaults to null: Posthorn's own. */
  readonly accent: string | null
  /** The public address of Posthorn. */
  readonly baseUrl: string
  /** Defaults to null: no e-mail is sent. */
  readonly smtp: Smtp | null
}

export class AlertConfig extends Context.Reference<AlertConfig>()("@posthorn/worker/AlertConfig", {
  defaultValue: (): AlertSettings => ({
    name: "Posthorn",
    accent: null,
    baseUrl: "http://localhost:8484",
    smtp: null
  })
}) {}
