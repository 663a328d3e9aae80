/** What a process tells of the time that its database takes to answer. */
import { expect, it } from "@effect/vitest"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Effect, Logger, LogLevel, TestClock } from "effect"

const answered = (milliseconds: number) =>
  Effect.gen(function* () {
    const clock = yield* DatabaseClock
    const asked = yield* elapsedNow
    yield* TestClock.adjust(milliseconds)
    yield* clock.measured(asked, clock.now())
    return clock.health()
  })

it.effect(
  "§10 warns of the database's answers once the last ten took 50 ms or more, until one is quicker",
  () =>
    Effect.gen(function* () {
      expect((yield* DatabaseClock).health()).toEqual({ databaseRoundTripMs: 0 })
      for (let n = 1; n < 10; n++) expect(yield* answered(79 + n)).toEqual({ databaseRoundTripMs: 80 })
      expect(yield* answered(90)).toEqual({
        databaseRoundTripMs: 80,
        warning: expect.stringMatching(/^the database takes 80 ms to answer: .* Run Posthorn near it\.$/)
      })
      expect(yield* answered(49)).toEqual({ databaseRoundTripMs: 49 })
    }).pipe(Effect.provide(DatabaseClock.Default), Effect.provide(Logger.minimumLogLevel(LogLevel.None)))
)
