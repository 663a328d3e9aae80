/** The console's settings. The cli reads them from the environment; tests use the defaults. */
import { Context } from "effect"

export interface Logo {
  readonly contentType: string
  readonly bytes: Uint8Array
}

export interface ConsoleSettings {
  /** The name in its header and title. Defaults to Posthorn. */
  readonly name: string
  /** The accent colour, `#rrggbb`. Defaults to null: Posthorn's own. */
  readonly accent: string | null
  /** The logo in its header. Defaults to null: Posthorn's own. */
  readonly logo: Logo | null
  /** The folder of the built application. Defaults to null: there is none. */
  readonly folder: string | null
}

export class ConsoleConfig extends Context.Reference<ConsoleConfig>()("@posthorn/server/ConsoleConfig", {
  defaultValue: (): ConsoleSettings => ({ name: "Posthorn", accent: null, logo: null, folder: null })
}) {}
