/**
 * How long everything takes in a world, and the constants of its engines. Each duration is drawn from well below to well
 * above the engine's constant that it meets, and the constants are drawn too. Earlier, statements never took longer than
 * loaded rows stay fresh, and that hid a fault: such deliveries were given up unsent.
 */
import { type TuningValues, tuned } from "../../src/Tuning.ts"
import { MANNERS } from "./Answers.ts"
import type { Chance } from "./VirtualTime.ts"

/**
 * The kinds of worlds. `trouble`: everything that can go wrong does. `calm`: nothing does. Of the others each has one fault, and is
 * otherwise on time. `deaf`: notifications are not heard for a while, and the one worker knows it. `lost`: each second one is lost,
 * and nobody knows it. `slow`: every answer of the database takes a second or two. `hanging`, `joining`, `disabled`: some workspaces
 * are odd (OddWorkspaces.ts).
 */
export const MOODS = ["trouble", "calm", "deaf", "lost", "slow", "hanging", "joining", "disabled"] as const
export type Mood = (typeof MOODS)[number]

export interface FaultPlan {
  /** The shortest time between the beginning of a statement and its answer. */
  readonly quickestMs: number
  /** The longest time between the beginning of a statement and its answer, when nothing delays it. */
  readonly slowestMs: number
  /** What a statement takes longer for each row or endpoint that it is asked about. */
  readonly eachMs: number
  /** Whether workers measure how long the database takes to answer. */
  readonly measures: boolean
  /** The longest time until a notification arrives. */
  readonly noticeMs: number
  readonly retryDelayMs: number
  readonly slots: number
  readonly endpointConcurrency: number
  readonly manners: ReadonlyArray<string>
  readonly tuning: TuningValues
}

/** It is slower now and then, see World.ts; always slower than `lateMs` in the mood `slow`. */
const SLOWEST_MS = 700

/** The factor between a delay here and in production. */
const SPREAD = 5

type Times = Exclude<
  { [K in keyof TuningValues]: K extends `${string}Ms` ? K : never }[keyof TuningValues],
  never
>

const TIMES = Object.keys(tuned).filter((name): name is Times => name.endsWith("Ms"))

const timesOf = (chance: Chance): Partial<TuningValues> =>
  Object.fromEntries(
    TIMES.map((name) => [name, chance.magnitude(tuned[name] / SPREAD, tuned[name] * SPREAD)])
  )

/** Limits of memory and of statements, small enough to be reached in a world. */
const sizesOf = (chance: Chance): Partial<TuningValues> => {
  const size = (from: number, to: number) => Math.round(chance.magnitude(from, to))
  const shardLeast = size(1, tuned.shardLeast)
  return {
    readMost: size(4, tuned.readMost),
    shardLeast,
    shardMost: size(shardLeast, tuned.shardMost),
    scanLimit: size(1, tuned.scanLimit),
    oversizedFrom: size(1, tuned.oversizedFrom),
    largeBatchFrom: size(1, tuned.largeBatchFrom),
    refillMost: size(1, tuned.refillMost),
    batchMost: size(1, tuned.batchMost),
    batchWanted: size(1, tuned.batchWanted),
    mostUnrecorded: size(4, tuned.mostUnrecorded),
    maxWaiting: size(60, tuned.maxWaiting)
  }
}

const PROMPT: FaultPlan = {
  quickestMs: 0,
  slowestMs: 60,
  eachMs: 0,
  measures: false,
  noticeMs: 40,
  retryDelayMs: 1_000,
  slots: 10,
  endpointConcurrency: 3,
  manners: ["ok"],
  tuning: tuned
}

/** Half of the worlds have production's constants. */
export const faultPlanOf = (chance: Chance, mood: Mood): FaultPlan => {
  switch (mood) {
    case "deaf":
    case "lost":
      return PROMPT
    case "hanging":
    case "joining":
      return { ...PROMPT, slots: 20 }
    case "disabled":
      return { ...PROMPT, slots: 20, eachMs: 2, tuning: { ...tuned, sweepStep: 50 } }
    case "slow": {
      const quickestMs = chance.between(900, 2_000)
      return { ...PROMPT, quickestMs, slowestMs: 1.2 * quickestMs, measures: true }
    }
    default:
      return {
        ...PROMPT,
        slowestMs: chance.magnitude(1, SLOWEST_MS),
        noticeMs: chance.magnitude(1, 10_000),
        retryDelayMs: chance.magnitude(300, 3_000),
        slots: Math.round(chance.magnitude(2, 20)),
        endpointConcurrency: Math.round(chance.magnitude(1, 10)),
        manners: MANNERS,
        tuning: chance.happens(0.5) ? tuned : { ...tuned, ...timesOf(chance), ...sizesOf(chance) }
      }
  }
}
