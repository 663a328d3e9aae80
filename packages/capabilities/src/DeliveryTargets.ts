/** Which targets this installation may deliver to besides public ones; the same at create, update and dispatch. */
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import { Context } from "effect"

export class DeliveryTargets extends Context.Tag("@posthorn/capabilities/DeliveryTargets")<
  DeliveryTargets,
  AllowedTargets
>() {}
