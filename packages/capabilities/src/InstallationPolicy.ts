/** What this installation lets its workspaces do; whoever starts the program reads it from the environment. */
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import type { Limits } from "@posthorn/domain/Limits"
import { Context } from "effect"

export class InstallationPolicy extends Context.Tag("@posthorn/capabilities/InstallationPolicy")<
  InstallationPolicy,
  {
    /** Targets that deliveries may go to besides public ones: the same at create, update and dispatch. */
    readonly allowedTargets: AllowedTargets
    readonly limits: Limits
    /** How long a receiver has to answer: what a diagnosis says of timeouts. */
    readonly requestTimeoutMs: number
    /** The unit of retries, and of the pauses between probes. */
    readonly retryDelayMs: number
  }
>() {}
