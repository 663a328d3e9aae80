/**
 * Every way in which a receiver misbehaves that we know of, one path each, with what must be observed.
 *
 * Three rules are behind every outcome (spec §4.1, decision §7): the status alone decides; the request deadline covers
 * everything up to the head, the body deadline the rest; what ends a body early makes it absent (null) and nothing
 * else. Misbehaviour before HTTP begins (certificates, a reset on accept, a stalled handshake) is a receiver's option,
 * not a path.
 */
import type { Behaviour } from "./internal/Answer.ts"
import { spelledOut } from "./internal/Behaviours.ts"
import type { Resident } from "./internal/Residents.ts"
import { answered } from "./internal/ZooAnswered.ts"
import { bodies } from "./internal/ZooBodies.ts"
import { unanswered } from "./internal/ZooUnanswered.ts"

export type { Outcome, Resident } from "./internal/Residents.ts"

export const zoo: ReadonlyArray<Resident> = [...answered, ...bodies, ...unanswered]

const byPath = new Map(zoo.map(({ path, answer }) => [path, answer]))

/** How `path` behaves: as a resident, or as it spells out (`/status/418`, `/redirect/307`, `/schedule/500-500-200`). */
export const behaviourOf = (path: string): Behaviour => byPath.get(path) ?? spelledOut(path)
