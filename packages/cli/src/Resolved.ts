/** What a role needs once everything optional has been decided, and the parts that server and worker both make of it. */
import type { OperatorToken } from "@posthorn/capabilities/Operators"
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import * as Database from "@posthorn/persistence/client/Database"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { Layer, Option, type Redacted } from "effect"
import type { Settings } from "./settings/Settings.ts"

export interface Resolved {
  readonly settings: Settings
  readonly databaseUrl: Redacted.Redacted
  readonly encryptionKeys: ReadonlyArray<Redacted.Redacted<Uint8Array>>
  readonly operatorTokens: ReadonlyArray<OperatorToken>
  readonly allowedTargets: AllowedTargets
  readonly port: number
  /** See `ServerConfig`. */
  readonly drainSeconds: number
}

/** Where it listens, as one writes it in a browser on the same machine. */
const listeningOf = ({ port, settings }: Resolved): string => {
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host
  return `http://${host === "0.0.0.0" || host === "[::]" ? "localhost" : host}:${port}`
}

export const baseUrlOf = (resolved: Resolved): string =>
  Option.getOrElse(resolved.settings.baseUrl, () => listeningOf(resolved))

/** Both addresses, where they differ: links are made of the public one. */
export const addressesOf = (resolved: Resolved): string => {
  const [listening, publicly] = [listeningOf(resolved), baseUrlOf(resolved)]
  return listening === publicly ? listening : `${listening}, publicly ${publicly}`
}

export const secretBoxOf = ({ encryptionKeys }: Resolved) =>
  Layer.succeed(SecretBox.SecretBox, SecretBox.make(encryptionKeys))

/**
 * Between two statements of a transaction of ours nothing is waited for. A process that stops there, frozen or cut off,
 * holds its locks for no longer than this.
 */
const IDLE_IN_TRANSACTION = "10 seconds"

export const databaseOf = (
  { databaseUrl }: Resolved,
  role: string,
  limits: Omit<Database.DatabaseOptions, "url" | "applicationName">
) =>
  Database.layer({
    url: databaseUrl,
    applicationName: `posthorn ${role}`,
    idleInTransaction: IDLE_IN_TRANSACTION,
    ...limits
  })
