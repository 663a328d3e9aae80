/** How much one workspace may take up, as this installation is configured. Source: decision §10 (Limits). */
import { defaultLimits, type Limits } from "@posthorn/domain/Limits"
import { Context } from "effect"

export class WorkspaceLimits extends Context.Reference<WorkspaceLimits>()(
  "@posthorn/capabilities/WorkspaceLimits",
  {
    defaultValue: (): Limits => defaultLimits
  }
) {}
