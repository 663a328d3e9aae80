/** When a worker polls for replay jobs. Time stands still until the test moves it. */
import { expect, it } from "@effect/vitest"
import { ReplaySteps, type StepOutcome } from "@posthorn/persistence/engine/ReplaySteps"
import { Effect, TestClock } from "effect"
import { makeReplays } from "../../src/loops/Replays.ts"
import { untoldReplaysMs, waitingReplaysMs } from "../../src/Schedules.ts"

/** A worker with one shard, and jobs whose steps have these outcomes, in order; gives the number of polls. */
const looking = (outcomes: Array<StepOutcome>) =>
  Effect.gen(function* () {
    let looks = 0
    const bounds: Array<readonly [batch: number, room: number]> = []
    const steps: ReplaySteps["Type"] = {
      running: () =>
        Effect.sync(() => {
          looks += 1
          return outcomes.length > 0 ? [{ workspaceId: "wsp_1" as never, id: "rpl_1" }] : []
        }),
      step: (_, batch, room) =>
        Effect.sync(() => {
          bounds.push([batch, room])
          return { outcome: outcomes.shift()!, made: 0 }
        })
    }
    const replays = yield* Effect.provideService(makeReplays, ReplaySteps, steps)
    yield* Effect.forkScoped(replays.run(() => [0]))
    yield* TestClock.adjust(0)
    return { bounds, lookAgain: replays.lookAgain, looks: () => looks }
  })

it.scoped("§4.6 polls seldom while there is no job, and at once when it is notified of one", () =>
  Effect.gen(function* () {
    const { lookAgain, looks } = yield* looking([])
    expect(looks()).toBe(1)

    yield* TestClock.adjust(untoldReplaysMs - 1)
    expect(looks()).toBe(1)

    lookAgain()
    yield* TestClock.adjust(0)
    expect(looks()).toBe(2)

    yield* TestClock.adjust(untoldReplaysMs)
    expect(looks()).toBe(3)
  })
)

it.scoped("§4.6 soon polls a job that waits for room again, and at once one that does not", () =>
  Effect.gen(function* () {
    const { looks } = yield* looking(["waiting", "stepped", "finished"])
    expect(looks()).toBe(1)

    yield* TestClock.adjust(waitingReplaysMs)
    yield* TestClock.adjust("100 millis")
    expect(looks()).toBe(3)
  })
)

it.scoped("§4.6 workspaces take turns, however many jobs one has, and so do its jobs", () =>
  Effect.gen(function* () {
    const made: Array<string> = []
    const jobs = ["a1", "a2", "a3", "b1"].map((id) => ({ workspaceId: `wsp_${id[0]}` as never, id }))
    const steps: ReplaySteps["Type"] = {
      running: () => Effect.succeed(jobs),
      // The second job of the first workspace waits for room: it takes no other's turn.
      step: ({ id }) =>
        Effect.sync(() => {
          if (id !== "a2") made.push(id)
          return { outcome: id === "a2" ? "waiting" : "stepped", made: 0 }
        })
    }
    const replays = yield* Effect.provideService(makeReplays, ReplaySteps, steps)
    yield* Effect.forkScoped(replays.run(() => [0]))
    for (let n = 0; n < 8; n++) yield* TestClock.adjust("20 millis")

    expect(made.slice(0, 8)).toEqual(["a1", "b1", "a3", "b1", "a1", "b1", "a3", "b1"])
  })
)

/** How many steps the first of these workspaces makes in 400 ms. */
const stepsBeside = (others: number) =>
  Effect.gen(function* () {
    let made = 0
    const jobs = Array.from({ length: 1 + others }, (_, n) => ({
      workspaceId: `wsp_${n}` as never,
      id: `r${n}`
    }))
    const steps: ReplaySteps["Type"] = {
      running: () => Effect.succeed(jobs),
      step: ({ id }) =>
        Effect.sync(() => {
          if (id === "r0") made += 1
          return { outcome: "stepped" as const, made: 10 }
        })
    }
    const replays = yield* Effect.provideService(makeReplays, ReplaySteps, steps)
    yield* Effect.forkScoped(replays.run(() => [0]))
    yield* TestClock.adjust("400 millis")
    return made
  })

it.scoped("§4.6 a job beside those of three other workspaces keeps a third of its speed alone", () =>
  Effect.gen(function* () {
    const alone = yield* stepsBeside(0)
    expect(yield* stepsBeside(1)).toBeGreaterThanOrEqual(alone - 1)
    expect((yield* stepsBeside(3)) / alone).toBeGreaterThan(1 / 3)
  })
)

it.scoped("§4.6 makes 10 replays in a step, and pauses a job while 200 deliveries of its endpoint wait", () =>
  Effect.gen(function* () {
    const { bounds } = yield* looking(["finished"])
    expect(bounds).toEqual([[10, 200]])
  })
)
