/**
 * Tells workspaces by e-mail and Slack that endpoints fail: folds notes into alerts, and sends these. Source: spec §3.6.
 *
 * At least once: an alert is claimed before it is sent, and a claim that no outcome follows ends after `LEASE_SECONDS`. A workspace has one
 * message of a kind under way, and the places of each kind are its own: a mail server that does not answer holds up no Slack message.
 * All workspaces share the places of a kind: channels that do not answer hold them until their deadlines. What a message says is
 * read when it is sent.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { type AlertKind, AlertSecrets, recipientOf } from "@posthorn/domain/Alerts"
import { resolve, waitsOf } from "@posthorn/domain/DeliveryPolicy"
import { diagnose } from "@posthorn/domain/diagnosis/Diagnosis"
import { evidenceOf } from "@posthorn/domain/diagnosis/Recorded"
import type { EndpointId } from "@posthorn/domain/Ids"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { Alerts, type ClaimedAlert } from "@posthorn/persistence/engine/Alerts"
import { EvidenceRepo } from "@posthorn/persistence/repositories/EvidenceRepo"
import { makeTrouble, reporting } from "@posthorn/telemetry/Trouble"
import { Context, Effect, Either, FiberSet, Layer, Option, Redacted, Schema } from "effect"
import { AlertConfig } from "../alerts/AlertConfig.ts"
import { htmlOf, type LetterFacts, letterOf, slackOf, textOf } from "../alerts/Letter.ts"
import { sendMail, type Told } from "../alerts/Mail.ts"
import { tellSlack } from "../alerts/Slack.ts"
import { Sender } from "../attempt/Sender.ts"
import { alerting as rhythm } from "../Schedules.ts"
import { WorkerConfig } from "../WorkerConfig.ts"

/** Messages of one kind that are under way together. */
const PLACES = 10
/** Longer than any message takes, with the reads before it. */
const LEASE_SECONDS = 60
const WORKSPACES = 200
const NOTES = 500
/** Times that a workspace's notes are folded in a round, before others' are. */
const PASSES = 10
const HOURS = 100
/** Messages that a workspace sends in a row, before others get its place. */
const IN_A_ROW = 10
/** A worker that stops waits so long for messages under way. */
const STOP = "5 seconds"

const LOSSES: ReadonlySet<string> = new Set([
  "disabled_by_failures",
  "disabled_by_hand",
  "stopped_deliveries",
  "missed_events",
  "healthy"
])

const decodeSecrets = Schema.decodeOption(Schema.parseJson(AlertSecrets))

const NOTHING_SEEN = { disables: false, finding: null, undelivered: null }

const given = (error: string): Told => ({ kind: "failed", error, final: true })

const orMore = ({ count, more }: { readonly count: number; readonly more: boolean }) =>
  more ? `${count} or more` : String(count)

export class Alerting extends Context.Tag("@posthorn/worker/Alerting")<
  Alerting,
  {
    readonly run: (here: () => boolean) => Effect.Effect<unknown>
    /** Makes alerts of notes: of each workspace at most `NOTES` times `PASSES`. */
    readonly fold: Effect.Effect<void, SqlError>
    /** Begins to send what is due and has a place. */
    readonly send: Effect.Effect<void, SqlError>
    /** Waits for what is under way. */
    readonly settled: Effect.Effect<void>
  }
>() {}

const make = Effect.gen(function* () {
  const alerts = yield* Alerts
  const evidence = yield* EvidenceRepo
  const box = yield* SecretBox
  const sender = yield* Sender
  const config = yield* AlertConfig
  const worker = yield* WorkerConfig
  const fibers = yield* FiberSet.make<void>()
  yield* Effect.addFinalizer(() =>
    FiberSet.awaitEmpty(fibers).pipe(Effect.interruptible, Effect.timeoutOption(STOP))
  )
  const waits = waitsOf({ kind: "standard" }, worker)

  const seenOf = (alert: ClaimedAlert, endpointId: EndpointId) =>
    Effect.gen(function* () {
      const { workspaceId } = alert
      const gathered = yield* evidence.gather({ workspaceId, endpointIds: null }, endpointId)
      if (gathered === undefined) return NOTHING_SEEN
      const { certificate: _, filter: __, secret, ...endpoint } = gathered.endpoint
      const { findings } = diagnose(
        evidenceOf({ ...gathered, endpoint }, worker, {
          certificateExpiresAt: null,
          filtered: null,
          secretReadable: Either.isRight(box.open({ workspaceId, endpointId }, secret))
        })
      )
      return {
        disables: resolve(endpoint.policy, endpoint.workspacePolicy, worker).disableAfter.kind !== "never",
        finding: findings.find(({ code }) => !LOSSES.has(code)) ?? null,
        undelivered: {
          waiting: gathered.waiting.count,
          stopped: orMore(gathered.stopped),
          missed: orMore(gathered.missedEvents)
        }
      }
    })

  const factsOf = (alert: ClaimedAlert): Effect.Effect<Omit<LetterFacts, "tellsDisabled">, SqlError> =>
    Effect.gen(function* () {
      const { cause, digest, endpointId, happenedAt, name, slug, workspaceId } = alert
      const most = digest?.most ?? []
      const ids = [...(endpointId === null ? [] : [endpointId]), ...most.map((one) => one.endpointId)]
      const named = new Map(
        (yield* alerts.named(workspaceId, ids)).map((endpoint) => [endpoint.id as string, endpoint])
      )
      const endpointOf = (id: string | null) => (id === null ? null : (named.get(id) ?? null))
      const endpoint = endpointOf(endpointId)
      const seen = endpointId === null || endpoint === null ? NOTHING_SEEN : yield* seenOf(alert, endpointId)
      return {
        ...{ cause, happenedAt, workspace: { slug, name }, endpoint },
        digest: digest && {
          ...digest,
          most: most.map((one) => ({ endpoint: endpointOf(one.endpointId), times: one.times }))
        },
        ...seen
      }
    })

  const slackUrlOf = ({ alertSecrets, recipient, workspaceId }: ClaimedAlert) =>
    Option.fromNullable(alertSecrets).pipe(
      Option.flatMap((sealed) => Either.getRight(box.open({ workspaceId, of: "alerts" }, sealed))),
      Option.flatMap((text) => decodeSecrets(Redacted.value(text))),
      Option.flatMapNullable(({ urls }) => (Object.hasOwn(urls, recipient) ? urls[recipient] : undefined))
    )

  const tell = (alert: ClaimedAlert): Effect.Effect<Told, SqlError> =>
    Effect.gen(function* () {
      if (alert.attempts > waits.length + 1) return given("The worker ended each time before it was sent")
      const on =
        alert.alerts.find((one) => one.kind === alert.kind && recipientOf(one) === alert.recipient)?.on ?? []
      if (!on.includes(alert.cause)) return given("It was taken out of the settings before it was sent")
      const letter = letterOf(
        { ...(yield* factsOf(alert)), tellsDisabled: on.includes("endpoint.disabled") },
        config
      )
      if (alert.kind === "slack") {
        const url = slackUrlOf(alert)
        return Option.isNone(url)
          ? given("The Slack URL cannot be opened with the worker's ENCRYPTION_KEY")
          : yield* tellSlack(sender, worker.allowedTargets, alert.workspaceId, url.value, slackOf(letter))
      }
      if (config.smtp === null) return { kind: "failed", error: "SMTP_URL is not set", final: false }
      return yield* sendMail(config.smtp, {
        id: alert.id,
        to: alert.recipient,
        fromName: config.name,
        subject: letter.subject,
        text: textOf(letter),
        html: htmlOf(letter, config)
      })
    })

  const settle = (alert: ClaimedAlert, told: Told) => {
    if (told.kind === "sent") return alerts.settle(alert, { state: "sent", error: null, waitMs: 0 })
    const waitMs = told.final ? undefined : waits[alert.attempts - 1]
    return alerts.settle(alert, {
      state: waitMs === undefined ? "failed" : "pending",
      error: told.error,
      waitMs: waitMs ?? 0
    })
  }

  const trouble = makeTrouble("Alerts cannot be sent", "Alerts can be sent again")

  const inARow = (alert: ClaimedAlert, left: number): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      yield* settle(alert, yield* tell(alert))
      const [next] = left > 1 ? yield* alerts.claim(alert.kind, [alert.workspaceId], 1, LEASE_SECONDS) : []
      if (next !== undefined) yield* inARow(next, left - 1)
    })

  const sending = (kind: AlertKind) => {
    const busy = new Set<string>()
    let past = ""
    return Effect.gen(function* () {
      const free = PLACES - busy.size
      if (free === 0) return
      const found = yield* alerts.waiting(kind, past, WORKSPACES)
      const due = found.filter(({ isDue, workspaceId }) => isDue && !busy.has(workspaceId))
      const claimed =
        due.length === 0
          ? []
          : yield* alerts.claim(
              kind,
              due.map(({ workspaceId }) => workspaceId),
              free,
              LEASE_SECONDS
            )
      // Without a place for all, the next round goes on behind the last that got one.
      const last = claimed.length === free ? claimed.at(-1) : found.at(-1)
      past = claimed.length < free && found.length < WORKSPACES ? "" : (last?.workspaceId ?? "")
      for (const alert of claimed) {
        busy.add(alert.workspaceId)
        yield* FiberSet.run(
          fibers,
          inARow(alert, IN_A_ROW).pipe(
            reporting(trouble),
            Effect.catchAllCause((cause) => Effect.logWarning("An alert could not be sent", cause)),
            Effect.ensuring(Effect.sync(() => busy.delete(alert.workspaceId)))
          )
        )
      }
    })
  }

  const foldOf = (workspaceId: string) =>
    alerts.fold(workspaceId, NOTES).pipe(
      Effect.repeat({ times: PASSES - 1, while: (folded) => folded === NOTES }),
      Effect.catchAllCause((cause) => Effect.logWarning("Alerts of a workspace stand still", cause))
    )
  const foldPast = (past: string): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      const noted = yield* alerts.noted(past, WORKSPACES)
      yield* Effect.forEach(noted, foldOf, { discard: true })
      if (noted.length === WORKSPACES) yield* foldPast(noted.at(-1)!)
    })
  const fold = Effect.zipRight(
    foldPast(""),
    Effect.repeat(alerts.close(HOURS), { while: (closed) => closed === HOURS })
  )

  const [email, slack] = [sending("email"), sending("slack")]
  const send = Effect.asVoid(Effect.zipRight(email, slack))
  const round = Effect.flatMap(alerts.hasWork, (hasWork) =>
    hasWork ? Effect.zipRight(fold, send) : Effect.void
  )

  return {
    fold: Effect.asVoid(fold),
    send,
    settled: FiberSet.awaitEmpty(fibers),
    run: (here: () => boolean) =>
      Effect.suspend((): Effect.Effect<unknown, SqlError> => (here() ? round : Effect.void)).pipe(
        reporting(trouble),
        Effect.catchAllCause((cause) => Effect.logWarning("Alerts stand still", cause)),
        Effect.withTracerEnabled(false),
        Effect.repeat(rhythm)
      )
  }
})

export const layer = Layer.scoped(Alerting, make)
