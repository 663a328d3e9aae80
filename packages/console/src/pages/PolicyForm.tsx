/**
 * A delivery policy as a form: each member is set or left out, and the times at which a delivery would be tried are drawn before
 * anything is saved. The server judges what is sent.
 */
import {
  type DeliveryPolicy,
  type EffectivePolicy,
  type Retries,
  waitsOf
} from "@posthorn/domain/DeliveryPolicy"
import { useState } from "react"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Select, TextField } from "../ui/Field.tsx"
import { Card } from "../ui/Layout.tsx"
import { Refusal } from "../ui/States.tsx"
import { span } from "../ui/Time.tsx"
import { rateWords } from "./policies.ts"

const LEFT_OUT = "left out"
const LIMIT = "limit"
const NO_LIMIT = "no limit"

interface Draft {
  readonly retries: string
  readonly waits: string
  readonly jitter: string
  readonly honorRetryAfter: string
  readonly timeoutSeconds: string
  readonly rateLimit: string
  readonly requests: string
  readonly perSeconds: string
  readonly disableAfter: string
  readonly failures: string
  readonly hours: string
  readonly onGone: string
}

const draftOf = (policy: DeliveryPolicy | null): Draft => {
  const { disableAfter, honorRetryAfter, jitter, onGone, rateLimit, retries, timeoutSeconds } = policy ?? {}
  return {
    retries: retries?.kind ?? LEFT_OUT,
    waits: retries?.kind === "waits" ? retries.seconds.join(", ") : "60, 300, 1800",
    jitter: jitter === undefined ? LEFT_OUT : String(jitter),
    honorRetryAfter: honorRetryAfter === undefined ? LEFT_OUT : String(honorRetryAfter),
    timeoutSeconds: timeoutSeconds === undefined ? "" : String(timeoutSeconds),
    rateLimit: rateLimit === undefined ? LEFT_OUT : rateLimit === null ? NO_LIMIT : LIMIT,
    requests: String(rateLimit?.requests ?? 100),
    perSeconds: String(rateLimit?.perSeconds ?? 60),
    disableAfter: disableAfter?.kind ?? LEFT_OUT,
    failures: String(disableAfter?.kind === "failures" ? disableAfter.count : 20),
    hours: String(disableAfter?.kind === "failing_for" ? disableAfter.seconds / 3600 : 24),
    onGone: onGone ?? LEFT_OUT
  }
}

const numbersIn = (text: string) =>
  text
    .split(/[\s,]+/)
    .filter((word) => word !== "")
    .map(Number)

const retriesOf = ({ retries, waits }: Draft): Retries =>
  (retries === "waits" ? { kind: retries, seconds: numbersIn(waits) } : { kind: retries }) as Retries

const disableAfterOf = ({ disableAfter, failures, hours }: Draft) =>
  disableAfter === "failures"
    ? { kind: disableAfter, count: Number(failures) }
    : disableAfter === "failing_for"
      ? { kind: disableAfter, seconds: Math.round(Number(hours) * 3600) }
      : { kind: disableAfter }

const rateLimitOf = ({ perSeconds, rateLimit, requests }: Draft) =>
  rateLimit === NO_LIMIT ? null : { requests: Number(requests), perSeconds: Number(perSeconds) }

/** Null when everything is left out. */
const policyOf = (draft: Draft): DeliveryPolicy | null => {
  const policy = {
    ...(draft.retries !== LEFT_OUT && { retries: retriesOf(draft) }),
    ...(draft.jitter !== LEFT_OUT && { jitter: Number(draft.jitter) }),
    ...(draft.honorRetryAfter !== LEFT_OUT && { honorRetryAfter: draft.honorRetryAfter === "true" }),
    ...(draft.timeoutSeconds.trim() !== "" && { timeoutSeconds: Number(draft.timeoutSeconds) }),
    ...(draft.rateLimit !== LEFT_OUT && { rateLimit: rateLimitOf(draft) }),
    ...(draft.disableAfter !== LEFT_OUT && { disableAfter: disableAfterOf(draft) }),
    ...(draft.onGone !== LEFT_OUT && { onGone: draft.onGone })
  }
  return Object.keys(policy).length === 0 ? null : (policy as DeliveryPolicy)
}

/** Undefined if it is a number of this range. */
const problemOf = (text: string, least: number, most: number, whole = true): string | undefined => {
  if (text.trim() === "") return `A number from ${least} to ${most} is needed.`
  const number = Number(text)
  const isRight = number >= least && number <= most && (!whole || Number.isInteger(number))
  return isRight ? undefined : `Write a ${whole ? "whole " : ""}number from ${least} to ${most}.`
}

const problemOfWaits = (text: string): string | undefined => {
  const waits = numbersIn(text)
  if (waits.length === 0) return "At least one number of seconds is needed."
  if (waits.length > 20) return "At most 20 retries."
  if (waits.some((wait) => !Number.isInteger(wait) || wait < 1 || wait > 604_800))
    return "Write whole numbers from 1 to 604800, with commas between."
  return waits.reduce((sum, wait) => sum + wait, 0) > 30 * 86_400 ? "At most 30 days in all." : undefined
}

/** What is wrong with the fields that are shown, in words. */
const problemsOf = (draft: Draft): Partial<Record<keyof Draft, string | undefined>> => ({
  ...(draft.retries === "waits" && { waits: problemOfWaits(draft.waits) }),
  ...(draft.timeoutSeconds.trim() !== "" && { timeoutSeconds: problemOf(draft.timeoutSeconds, 1, 60) }),
  ...(draft.rateLimit === LIMIT && {
    requests: problemOf(draft.requests, 1, 10_000),
    perSeconds: problemOf(draft.perSeconds, 1, 3_600)
  }),
  ...(draft.disableAfter === "failures" && { failures: problemOf(draft.failures, 1, 1_000) }),
  ...(draft.disableAfter === "failing_for" && { hours: problemOf(draft.hours, 1, 720, false) })
})

/** When each attempt is made, counted from the first, if all fail. */
const Ladder = ({ jitter, retries }: { retries: Retries; jitter: number }) => {
  const { welcome } = useSession()
  const waits = waitsOf(retries, welcome.policyDefaults).map((ms) => ms / 1000)
  if (waits.some((wait) => !Number.isFinite(wait) || wait <= 0)) return null
  const times = [0]
  for (const wait of waits) times.push(Number((times.at(-1)! + wait).toFixed(2)))
  const last = times.at(-1)!
  return (
    <div className="grid gap-2">
      <ol aria-label="When it is tried" className="flex flex-wrap gap-1.5 text-xs">
        {times.map((seconds, at) => (
          <li key={seconds} className="rounded-md border px-2 py-1 whitespace-nowrap">
            <span className="text-faint">{at + 1}.</span> {at === 0 ? "at once" : `after ${span(seconds)}`}
          </li>
        ))}
        <li className="rounded-md border border-dashed px-2 py-1 whitespace-nowrap text-bad">
          given up {last === 0 ? "at once" : `after ${span(last)}`}
        </li>
      </ol>
      {jitter > 0 && last > 0 ? (
        <p className="text-xs text-faint">
          With jitter at most after {span(Math.round(last * (1 + jitter)))}.
        </p>
      ) : null}
    </div>
  )
}

const percent = (jitter: number) => `${Math.round(jitter * 100)} %`

const JITTERS = [0, 0.1, 0.25, 0.5]

export const PolicyForm = ({
  about,
  error,
  from,
  isPending,
  isSaved,
  mayChange,
  policy,
  save,
  upper
}: {
  about: string
  policy: DeliveryPolicy | null
  /** What holds where this policy leaves something out, and whose that is. */
  upper: EffectivePolicy
  from: string
  mayChange: boolean
  save: (policy: DeliveryPolicy | null) => void
  isPending: boolean
  isSaved: boolean
  error: unknown
}) => {
  const [draft, setDraft] = useState(() => draftOf(policy))
  const set = (member: keyof Draft) => (value: string) => setDraft((old) => ({ ...old, [member]: value }))
  const next = policyOf(draft)
  const problems = problemsOf(draft)
  const isRight = Object.values(problems).every((problem) => problem === undefined)
  const isChanged = JSON.stringify(next) !== JSON.stringify(policyOf(draftOf(policy)))
  const left = (what: string) => ({ id: LEFT_OUT, label: `${from}: ${what}` })
  const retries = next?.retries ?? upper.retries
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged && isRight) save(next)
      }}
    >
      <Card title="Delivery policy" about={about}>
        <fieldset disabled={!mayChange} className="grid max-w-2xl gap-6">
          <fieldset className="grid gap-3">
            <legend className="mb-2 text-sm font-semibold">When to try again</legend>
            <Select
              label="Retries"
              value={draft.retries}
              onChange={set("retries")}
              choices={[
                left(upper.retries.kind),
                { id: "standard", label: "Standard", about: "6 retries, each later than the last." },
                {
                  id: "patient",
                  label: "Patient",
                  about: "9 retries within about 3 days: outlasts a bad night."
                },
                { id: "waits", label: "Waits of your own" },
                { id: "none", label: "None", about: "One attempt." }
              ]}
            />
            {draft.retries === "waits" ? (
              <TextField
                label="Seconds before each retry"
                value={draft.waits}
                onChange={set("waits")}
                error={problems.waits}
                mono
                about="1 to 20 whole numbers with commas between, each at most 604800 (a week), 30 days in all."
              />
            ) : null}
            <Ladder retries={retries} jitter={next?.jitter ?? upper.jitter} />
            <Select
              label="Jitter"
              value={draft.jitter}
              onChange={set("jitter")}
              choices={[
                left(percent(upper.jitter)),
                ...[
                  ...new Set([...JITTERS, ...(draft.jitter === LEFT_OUT ? [] : [Number(draft.jitter)])])
                ].map((jitter) => ({
                  id: String(jitter),
                  label: jitter === 0 ? "None" : `Up to ${percent(jitter)} longer`
                }))
              ]}
            />
            <Select
              label="Retry-After of the receiver"
              value={draft.honorRetryAfter}
              onChange={set("honorRetryAfter")}
              choices={[
                left(upper.honorRetryAfter ? "honoured" : "ignored"),
                {
                  id: "true",
                  label: "Honoured",
                  about: "The next attempt is not before it, at most 24 hours."
                },
                { id: "false", label: "Ignored" }
              ]}
            />
          </fieldset>
          <fieldset className="grid gap-3">
            <legend className="mb-2 text-sm font-semibold">How long to wait</legend>
            <TextField
              label="Seconds to answer"
              value={draft.timeoutSeconds}
              onChange={set("timeoutSeconds")}
              error={problems.timeoutSeconds}
              placeholder={`${from}: ${upper.timeoutSeconds}`}
              about="1 to 60, until the head of the answer is there."
            />
          </fieldset>
          <fieldset className="grid gap-3">
            <legend className="mb-2 text-sm font-semibold">How fast</legend>
            <Select
              label="Rate"
              value={draft.rateLimit}
              onChange={set("rateLimit")}
              choices={[
                left(rateWords(upper.rateLimit)),
                {
                  id: LIMIT,
                  label: "At most so many attempts in a time",
                  about: "What is beyond that waits. Waiting is no failure."
                },
                { id: NO_LIMIT, label: "No limit" }
              ]}
            />
            {draft.rateLimit === LIMIT ? (
              <div className="grid gap-3 sm:grid-cols-2">
                <TextField
                  label="Attempts"
                  value={draft.requests}
                  onChange={set("requests")}
                  error={problems.requests}
                  about="1 to 10000: first ones, retries and test events together."
                />
                <TextField
                  label="In so many seconds"
                  value={draft.perSeconds}
                  onChange={set("perSeconds")}
                  error={problems.perSeconds}
                  about="1 to 3600. It holds for every window of that length."
                />
              </div>
            ) : null}
          </fieldset>
          <fieldset className="grid gap-3">
            <legend className="mb-2 text-sm font-semibold">When to stop</legend>
            <Select
              label="Disable the endpoint"
              value={draft.disableAfter}
              onChange={set("disableAfter")}
              choices={[
                left(
                  upper.disableAfter.kind === "failures"
                    ? `after ${upper.disableAfter.count} failures in a row`
                    : upper.disableAfter.kind === "never"
                      ? "never"
                      : `after failing for ${span(upper.disableAfter.seconds)}`
                ),
                { id: "failures", label: "After failures in a row" },
                { id: "failing_for", label: "After failing for a time" },
                { id: "never", label: "Never" }
              ]}
            />
            {draft.disableAfter === "failures" ? (
              <TextField
                label="Failures in a row"
                value={draft.failures}
                onChange={set("failures")}
                error={problems.failures}
              />
            ) : null}
            {draft.disableAfter === "failing_for" ? (
              <TextField
                label="Hours"
                value={draft.hours}
                onChange={set("hours")}
                about="1 to 720."
                error={problems.hours}
              />
            ) : null}
            <Select
              label="When the receiver answers 410 Gone"
              value={draft.onGone}
              onChange={set("onGone")}
              choices={[
                left(upper.onGone === "fail" ? "the delivery fails" : "the endpoint is disabled"),
                { id: "fail", label: "The delivery fails" },
                { id: "disable", label: "The endpoint is disabled at once" }
              ]}
            />
          </fieldset>
          <Refusal error={error} />
          {mayChange ? (
            <div className="flex items-center gap-3">
              <Button type="submit" look="primary" isDisabled={!isChanged || !isRight || isPending}>
                Save policy
              </Button>
              <span role="status" className="text-sm text-soft">
                {isSaved && !isChanged ? "Saved" : ""}
              </span>
            </div>
          ) : null}
        </fieldset>
      </Card>
    </form>
  )
}
