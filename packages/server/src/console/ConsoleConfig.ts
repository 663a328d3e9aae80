/** What the operator decides about the console. The cli reads it from the environment; tests leave it as it is. */
import { Context } from "effect"

export interface Logo {
  readonly contentType: string
  readonly bytes: Uint8Array
}

export interface ConsoleSettings {
  /** Shown in its head and title. */
  readonly name: string
  /** `#rrggbb`; null for Posthorn's own. */
  readonly accent: string | null
  readonly logo: Logo | null
  /** Where the built application lies; null where there is none. */
  readonly folder: string | null
}

export class ConsoleConfig extends Context.Reference<ConsoleConfig>()("@posthorn/server/ConsoleConfig", {
  defaultValue: (): ConsoleSettings => ({ name: "Posthorn", accent: null, logo: null, folder: null })
}) {}
