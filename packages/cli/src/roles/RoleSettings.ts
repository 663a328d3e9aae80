/** The settings of a role after all defaults are applied, and the layers that server and worker both build from them. */
import type { OperatorToken } from "@posthorn/capabilities/Operators"
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import * as Database from "@posthorn/persistence/client/Database"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { Layer, Option, type Redacted } from "effect"
import type { Settings } from "../settings/Settings.ts"

export interface RoleSettings {
  readonly settings: Settings
  readonly databaseUrl: Redacted.Redacted
  readonly encryptionKeys: ReadonlyArray<Redacted.Redacted<Uint8Array>>
  readonly operatorTokens: ReadonlyArray<OperatorToken>
  readonly allowedTargets: AllowedTargets
  readonly port: number
  /** See `ServerConfig`. */
  readonly drainSeconds: number
}

/** Its address for a browser on the same machine. */
const listeningOf = ({ port, settings }: RoleSettings): string => {
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host
  return `http://${host === "0.0.0.0" || host === "[::]" ? "localhost" : host}:${port}`
}

export const baseUrlOf = (resolved: RoleSettings): string =>
  Option.getOrElse(resolved.settings.baseUrl, () => listeningOf(resolved))

/** Both addresses, if they differ. Links use the public one. */
export const addressesOf = (resolved: RoleSettings): string => {
  const [listening, publicly] = [listeningOf(resolved), baseUrlOf(resolved)]
  return listening === publicly ? listening : `${listening}, publicly ${publicly}`
}

export const secretBoxOf = ({ encryptionKeys }: RoleSettings) =>
  Layer.succeed(SecretBox.SecretBox, SecretBox.make(encryptionKeys))

/**
 * Our transactions never pause between statements. So a session that is idle in one belongs to a process that is frozen or cut
 * off; its locks end after this time.
 */
const IDLE_IN_TRANSACTION = "10 seconds"

export const databaseOf = (
  { databaseUrl }: RoleSettings,
  role: string,
  limits: Omit<Database.DatabaseOptions, "url" | "applicationName">
) =>
  Database.layer({
    url: databaseUrl,
    applicationName: `posthorn ${role}`,
    idleInTransaction: IDLE_IN_TRANSACTION,
    ...limits
  })
