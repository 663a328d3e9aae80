import type { WorkspaceId } from "@posthorn/domain/Ids"
import type { Within } from "@posthorn/domain/Principal"

/** What exists for a caller without a limit: the whole workspace. */
export const whole = (workspaceId: WorkspaceId): Within => ({ workspaceId, endpointIds: null })
