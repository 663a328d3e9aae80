/** What this installation allows its workspaces. Whoever starts the program reads it from the environment. */
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import type { Limits } from "@posthorn/domain/Limits"
import type { Proxy } from "@posthorn/egress/Proxy"
import { Context } from "effect"

export class InstallationPolicy extends Context.Tag("@posthorn/capabilities/InstallationPolicy")<
  InstallationPolicy,
  {
    /** Targets that deliveries may go to besides public ones: the same at create, update and dispatch. Defaults to none. */
    readonly allowedTargets: AllowedTargets
    /** The limits of each workspace. Defaults to `defaultLimits`. */
    readonly limits: Limits
    /** How long a receiver has to answer; diagnoses of timeouts name it. Defaults to 10,000. */
    readonly requestTimeoutMs: number
    /** Most that a policy's `timeoutSeconds` gets. Defaults to 60,000. */
    readonly mostTimeoutMs?: number | undefined
    /** How requests to addresses that customers chose go out. Defaults to no proxy. */
    readonly outgoing: { readonly proxy: Proxy | null; readonly userAgent: string }
    /** How long events are kept. Defaults to 30 days. */
    readonly historyMs: number
    /** Whether workers can send e-mail. Defaults to false. */
    readonly sendsEmail?: boolean | undefined
    /** The unit of retries, and of the pauses between probes. Defaults to 30,000. */
    readonly retryDelayMs: number
  }
>() {}
