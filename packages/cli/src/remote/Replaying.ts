/**
 * `posthorn replay`, `resend` and `recover`: send one delivery again, or everything that an endpoint did not receive.
 *
 * `recover` counts, asks, starts the job and shows its progress. The job belongs to the server, so it goes on if the command is
 * interrupted. Without a terminal it cannot ask, so it starts nothing without `--yes`.
 */
import { Clock, Effect, Option, Schedule } from "effect"
import { misused, refuse } from "../command/CommandFailed.ts"
import { agreed, isTerminal, print, talk } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"
import { momentOf, spanOf } from "./Times.ts"

export const replay = (deliveryId: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ deliveries }) =>
      deliveries.replayWebhookDelivery({ path: { slug, deliveryId }, headers: {}, withResponse: true })
    )
    yield* print(json, text, () => `${value.id}  ${value.status}, replayed from ${deliveryId}`)
  })

export const resend = (deliveryId: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ deliveries }) =>
      deliveries.resendWebhookDelivery({ path: { slug, deliveryId }, headers: {}, withResponse: true })
    )
    yield* print(json, text, () => `${value.id}  ${value.status}, resent from ${deliveryId}`)
  })

export interface Recover {
  readonly endpointId: string
  readonly since: string
  readonly until: Option.Option<string>
  readonly includeMissed: boolean
  readonly includeUnsent: boolean
  readonly includeRecovered: boolean
  readonly includeTests: boolean
  readonly dryRun: boolean
  readonly yes: boolean
  readonly json: boolean
}

const rangeOf = ({ includeMissed, includeRecovered, includeTests, includeUnsent, since, until }: Recover) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const from = momentOf(since, now)
    const to = Option.match(until, { onNone: () => null, onSome: (text) => momentOf(text, now) })
    if (from === undefined)
      return yield* misused(`--since is "${since}", but must be like 2h, 30m, 1d or 2026-11-22T09:00:00Z`)
    if (Date.parse(from) > now)
      return yield* misused(
        `--since is ${from}, which is still to come: it is now ${new Date(now).toISOString()}`
      )
    if (to === undefined) return yield* misused("--until must be like 2h, 30m, 1d or 2026-11-22T09:00:00Z")
    if (to !== null && to <= from)
      return yield* misused(`--until is not after --since: nothing lies between ${from} and ${to}`)
    return { since: from, until: to, includeMissed, includeUnsent, includeRecovered, includeTests }
  })

type Range = Effect.Effect.Success<ReturnType<typeof rangeOf>>

const countOf = (endpointId: string, range: Range) =>
  Effect.flatMap(Posthorn, ({ ask, slug }) =>
    ask(({ replays }) =>
      replays.startReplay({
        path: { slug, endpointId },
        headers: {},
        payload: { ...range, dryRun: true },
        withResponse: true
      })
    )
  )

const whatOf = ({ matched, missed, unsent }: { matched: number; missed: number; unsent: number }) => {
  const failed = matched - missed - unsent
  const parts = [
    `${failed} ${failed === 1 ? "delivery" : "deliveries"} given up or refused`,
    missed > 0 ? `${missed} missed ${missed === 1 ? "event" : "events"}` : [],
    unsent > 0 ? `${unsent} ${unsent === 1 ? "event" : "events"} that it has not seen` : []
  ].flat()
  return new Intl.ListFormat("en").format(parts)
}

/** What was left out, as a sentence; empty when nothing was. */
const leftOutOf = ({
  recovered,
  tests,
  underWay
}: {
  recovered: number
  underWay: number
  tests: number
}) => {
  const parts = [
    recovered > 0 ? `${recovered} recovered since` : [],
    underWay > 0 ? `${underWay} under way again` : [],
    tests > 0 ? `${tests} ${tests === 1 ? "test" : "tests"}` : []
  ].flat()
  return parts.length === 0 ? "" : ` Left out: ${parts.join(", ")}.`
}

interface Progress {
  readonly id: string
  readonly state: string
  readonly matched: number
  readonly replayed: number
  readonly failed: number
  readonly createdAt: string
}

const BAR = 30

const barOf = ({ createdAt, matched, replayed }: Progress, now: number) => {
  const done = matched === 0 ? 1 : replayed / matched
  const left = replayed === 0 ? "" : `, ${spanOf(((now - Date.parse(createdAt)) * (1 - done)) / done)} left`
  const bar = "█".repeat(Math.round(done * BAR)).padEnd(BAR, "░")
  return `${bar} ${replayed} of ${matched}${left}`
}

/** On a terminal one line that is overwritten; elsewhere an occasional line. */
const showProgress = () => {
  let last = 0
  return (progress: Progress, now: number) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${barOf(progress, now)}`)
    else if (now - last > 5_000) {
      last = now
      process.stderr.write(`${progress.replayed} of ${progress.matched} replayed\n`)
    }
  }
}

const LOOK = Schedule.spaced("500 millis")

const follow = (replayId: string) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const show = showProgress()
    const look = Effect.gen(function* () {
      const answered = yield* ask(({ replays }) =>
        replays.getReplay({ path: { slug, replayId }, withResponse: true })
      )
      show(answered.value, yield* Clock.currentTimeMillis)
      return answered
    })
    const end = yield* Effect.repeat(look, {
      schedule: LOOK,
      until: ({ value }) => value.state !== "running" && value.state !== "queued"
    }).pipe(
      Effect.flatMap(() => look),
      Effect.onInterrupt(() =>
        talk(`\nThe job goes on: posthorn recover does not hold it. Its id is ${replayId}.`)
      )
    )
    if (process.stderr.isTTY) process.stderr.write("\n")
    return end
  })

const endOf = ({ failed, matched, replayed, state }: Progress) => {
  const remain = matched - replayed
  if (state === "cancelled")
    return `The job was cancelled: ${replayed} of ${matched} were replayed, ${remain} remain.`
  return remain === 0
    ? `All ${matched} were replayed; nothing remains.`
    : `${replayed} of ${matched} were replayed; ${failed} remain, because they are gone or were delivered meanwhile.`
}

/** Fails at once if it would have to ask and there is no terminal. */
export const mayAsk = ({ dryRun, yes }: Recover) =>
  yes || dryRun || isTerminal()
    ? Effect.void
    : refuse("There is no terminal to ask on, and nothing was changed: add --yes, or --dry-run to count.")

export const recover = (given: Recover) =>
  Effect.gen(function* () {
    const range = yield* rangeOf(given)
    const { endpointId, json } = given
    const { ask, slug } = yield* Posthorn
    const counted = yield* countOf(endpointId, range)
    const { leftOut, matched } = counted.value
    const what = whatOf(counted.value)
    if (given.dryRun) return yield* print(json, counted.text, () => `${what}.${leftOutOf(leftOut)}`)
    yield* talk(`Endpoint ${endpointId}: ${what} since ${range.since}.${leftOutOf(leftOut)}`)
    if (matched === 0 && !json) return yield* talk("There is nothing to replay.")
    if (!given.yes && !(yield* agreed("Replay them?"))) return yield* refuse("Nothing was changed.")
    const started = yield* ask(({ replays }) =>
      replays.startReplay({
        path: { slug, endpointId },
        headers: {},
        payload: { ...range, dryRun: false },
        withResponse: true
      })
    )
    if (!("id" in started.value)) return yield* refuse("The answer names no job.")
    const end = yield* follow(started.value.id)
    yield* print(json, end.text, () => endOf(end.value))
  })
