/** Actors as `posthorn.actor_text` stores them: in one column, because every event has one. */
import type { Actor } from "@posthorn/domain/Principal"

/** The id comes last: the name of a role may hold spaces. */
export const actorText = ({ id, type, via }: Actor): string => `${type} ${via} ${id}`
