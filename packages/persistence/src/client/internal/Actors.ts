/** Actors as `posthorn.actor_text` stores them: in one column, because every event stores one. */
import type { Actor } from "@posthorn/domain/Principal"

/** The id comes last: it may be the name of a role, which may contain spaces. */
export const actorText = ({ id, type, via }: Actor): string => `${type} ${via} ${id}`
