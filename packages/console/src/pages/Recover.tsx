/**
 * Sends an endpoint what it did not get: enable, test, count, replay, done. Each step shows what is already known, so the user can
 * leave and come back.
 */
import { useParams, useSearch } from "@tanstack/react-router"
import { type ReactNode, useEffect, useMemo, useState } from "react"
import type { Answer, Request } from "../api/contract.ts"
import { useAct, useList, useOperation } from "../api/queries.ts"
import type { EndpointDetail } from "../api/shapes.ts"
import { ButtonLink, Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Checkbox, Select } from "../ui/Field.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { Failed, Loading, Refusal } from "../ui/States.tsx"
import { shortUrl } from "../ui/shortUrl.ts"
import { Time } from "../ui/Time.tsx"
import { Outcome, useTest } from "./endpoint/Test.tsx"

type Replay = Answer<"getReplay">

const Step = ({
  children,
  isDone,
  number,
  title
}: {
  number: number
  title: string
  isDone: boolean
  children: ReactNode
}) => (
  <li className="relative flex gap-4 pb-7 last:pb-0">
    <span
      className={`relative z-10 grid size-7 shrink-0 place-items-center rounded-full text-sm font-medium ${isDone ? "text-good tint-good" : "bg-sunken text-soft"}`}
    >
      {isDone ? <Icon name="check" size={14} /> : number}
    </span>
    <div className="grid min-w-0 flex-1 gap-2.5">
      <h2 className="leading-7 font-semibold">
        {title}
        {isDone ? <span className="sr-only"> (done)</span> : null}
      </h2>
      {children}
    </div>
  </li>
)

const EnableStep = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may } = useSession()
  const update = useAct("updateWebhookEndpoint")
  if (endpoint.enabled)
    return <p className="text-sm text-soft">It is enabled. Deliveries that waited go on by themselves.</p>
  return (
    <>
      <p className="text-sm text-soft">
        First make sure that the receiver works again. The failures in a row are then counted from zero.
      </p>
      <Refusal error={update.error} />
      {may("updateWebhookEndpoint") ? (
        <div>
          <Button
            look="primary"
            isDisabled={update.isPending}
            onPress={() =>
              update.mutate({
                path: { endpointId: endpoint.id },
                body: { enabled: true }
              } as unknown as Request<"updateWebhookEndpoint">)
            }
          >
            Enable
          </Button>
        </div>
      ) : null}
    </>
  )
}

const TestStep = ({ endpoint, onDelivered }: { endpoint: EndpointDetail; onDelivered: () => void }) => {
  const { may } = useSession()
  const test = useTest(endpoint.id)
  useEffect(() => {
    if (test.isDelivered) onDelivered()
  }, [test.isDelivered, onDelivered])
  if (!may("sendTestEvent")) return null
  return (
    <>
      <p className="text-sm text-soft">
        One signed event, for this endpoint alone, shows whether it answers.
      </p>
      <Refusal error={test.error} />
      {test.sent === undefined ? null : <Outcome delivery={test.delivery} />}
      <div>
        <Button
          look={endpoint.enabled && !test.isDelivered ? "primary" : "plain"}
          data-key="t"
          isDisabled={!endpoint.enabled || test.isPending}
          onPress={() => test.send()}
        >
          Send test event
        </Button>
      </div>
    </>
  )
}

const HOUR_MS = 3_600_000

/** The start of the range: some time before it was disabled, because earlier deliveries had already failed; first of all `from`. */
const starts = (endpoint: EndpointDetail, from = "") => [
  ...(Number.isNaN(Date.parse(from))
    ? []
    : [{ id: "event", label: "When the event was published", ms: Date.parse(from) }]),
  ...(endpoint.missedEvents.since === null
    ? []
    : [
        {
          id: "outage",
          label: "An hour before it was disabled",
          ms: Date.parse(endpoint.missedEvents.since) - HOUR_MS
        }
      ]),
  { id: "1h", label: "The last hour", ms: Date.now() - HOUR_MS },
  { id: "24h", label: "The last 24 hours", ms: Date.now() - 24 * HOUR_MS },
  { id: "7d", label: "The last 7 days", ms: Date.now() - 168 * HOUR_MS },
  { id: "30d", label: "The last 30 days", ms: Date.now() - 720 * HOUR_MS }
]

const usual = (choices: ReturnType<typeof starts>) => choices.find(({ id }) => id !== "1h")!

const plural = (count: number, one: string, many: string) =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`

interface Counted {
  readonly matched: number
  readonly missed: number
  readonly unsent: number
  readonly leftOut: { readonly recovered: number; readonly underWay: number; readonly tests: number }
}

const leftOut = ({ leftOut: { recovered, tests, underWay } }: Counted) => {
  const parts = [
    recovered > 0 ? `${recovered.toLocaleString()} recovered since` : [],
    underWay > 0 ? `${underWay.toLocaleString()} under way again` : [],
    tests > 0 ? plural(tests, "test event", "test events") : []
  ].flat()
  return parts.length === 0 ? "" : ` Left out: ${parts.join(", ")}.`
}

/** How many a job would cover; counted again when the choice changes. */
const useCount = (endpointId: string, since: string, includeMissed: boolean, includeUnsent: boolean) => {
  const count = useAct("startReplay")
  const { mutate } = count
  useEffect(() => {
    mutate({
      path: { endpointId },
      body: { since, includeMissed, includeUnsent, dryRun: true }
    } as unknown as Request<"startReplay">)
  }, [endpointId, includeMissed, includeUnsent, mutate, since])
  return { counted: count.data as Counted | undefined, error: count.error }
}

const Progress = ({ replay }: { replay: Replay }) => {
  const { may, slug } = useSession()
  const { data = replay } = useOperation("getReplay", { path: { replayId: replay.id } }, { everyMs: 700 })
  const cancel = useAct("cancelReplay")
  const share = data.matched === 0 ? 1 : (data.replayed + data.failed) / data.matched
  const words = {
    running: `Replaying: ${data.replayed.toLocaleString()} of ${data.matched.toLocaleString()}`,
    done: `Done: ${plural(data.replayed, "delivery was", "deliveries were")} made anew`,
    queued: "Waits for other jobs of this workspace",
    cancelled: `Stopped after ${data.replayed.toLocaleString()} of ${data.matched.toLocaleString()}`
  }
  return (
    <div className="grid gap-3">
      <div
        role="progressbar"
        aria-label="Replay"
        aria-valuemin={0}
        aria-valuemax={data.matched}
        aria-valuenow={data.replayed + data.failed}
      >
        <svg
          viewBox="0 0 100 2"
          preserveAspectRatio="none"
          className="h-2 w-full rounded-full"
          aria-hidden="true"
        >
          <rect width="100" height="2" className="fill-line" />
          <rect width={share * 100} height="2" className="fill-good-bar" />
        </svg>
      </div>
      <p role="status" className="flex items-center gap-2 text-sm font-medium">
        {data.state === "done" ? <Icon name="checkCircle" className="text-good" /> : null}
        {words[data.state]}
        {data.failed > 0 ? (
          <span className="text-soft">· {data.failed.toLocaleString()} were gone</span>
        ) : null}
      </p>
      <div className="flex flex-wrap gap-2">
        {data.finishedAt === null && may("cancelReplay") ? (
          <Button small onPress={() => cancel.mutate({ path: { replayId: data.id } })}>
            Stop
          </Button>
        ) : null}
        <ButtonLink
          to="/w/$slug/endpoints/$endpointId"
          params={{ slug, endpointId: data.endpointId }}
          look={data.state === "done" ? "primary" : "plain"}
          small={data.state !== "done"}
        >
          See the deliveries
        </ButtonLink>
      </div>
    </div>
  )
}

const Choice = ({ endpoint, start }: { endpoint: EndpointDetail; start: (replay: Replay) => void }) => {
  const { may } = useSession()
  const { from, unsent } = useSearch({ from: "/w/$slug/endpoints/$endpointId/recover" })
  const choices = useMemo(() => starts(endpoint, from), [endpoint.id, endpoint.missedEvents.since, from])
  const [includeMissed, setIncludeMissed] = useState(true)
  const [chosen, setChosen] = useState(unsent === undefined || from !== undefined ? usual(choices).id : "7d")
  const [includeUnsent, setIncludeUnsent] = useState(unsent !== undefined)
  const since = useMemo(
    // A choice goes when what was missed was made up for meanwhile.
    () => new Date((choices.find(({ id }) => id === chosen) ?? usual(choices)).ms).toISOString(),
    [choices, chosen]
  )
  const { counted, error } = useCount(endpoint.id, since, includeMissed, includeUnsent)
  const replay = useAct("startReplay")
  const nothing = counted !== undefined && counted.matched === 0
  return (
    <>
      <p className="text-sm text-soft">
        What was given up or refused is sent again, each under a new id, no faster than the endpoint takes it.
      </p>
      <div className="grid max-w-sm gap-3">
        <Select label="From" choices={choices} value={chosen} onChange={setChosen} />
        <Checkbox
          label="Also events that it missed while it was disabled"
          isSelected={includeMissed}
          onChange={setIncludeMissed}
        />
        <Checkbox
          label="Also events that it wants and was never sent"
          about="From before it was made, or before its types or its filter were changed."
          isSelected={includeUnsent}
          onChange={setIncludeUnsent}
        />
      </div>
      <p role="status" className="text-sm">
        {error !== null ? null : counted === undefined ? (
          "Counting …"
        ) : nothing ? (
          `There is nothing to replay.${leftOut(counted)}${endpoint.enabled ? "" : " What still waits goes on by itself once the endpoint is enabled."}`
        ) : (
          <>
            <strong>{plural(counted.matched, "delivery", "deliveries")}</strong>
            {counted.missed > 0
              ? `, ${plural(counted.missed, "of them a missed event", "of them missed events")}`
              : ""}
            {counted.unsent > 0 ? `, ${counted.unsent.toLocaleString()} of them never sent` : ""}, since{" "}
            <Time at={since} focusable />.{leftOut(counted)}
          </>
        )}
      </p>
      <Refusal error={error ?? replay.error} />
      {may("startReplay") ? (
        <div>
          <Button
            look={endpoint.enabled ? "primary" : "plain"}
            icon="retry"
            data-key="r"
            isDisabled={!endpoint.enabled || counted === undefined || nothing || replay.isPending}
            onPress={() =>
              replay.mutate(
                {
                  path: { endpointId: endpoint.id },
                  body: { since, includeMissed, includeUnsent, dryRun: false }
                } as unknown as Request<"startReplay">,
                { onSuccess: (made) => start(made as Replay) }
              )
            }
          >
            {counted === undefined || nothing ? "Replay" : `Replay ${counted.matched.toLocaleString()}`}
          </Button>
        </div>
      ) : null}
    </>
  )
}

/** A job of this endpoint that is already running is shown instead of starting another. */
const useRunning = (endpointId: string) => {
  const { items } = useList("listReplays", { query: { limit: 20 } })
  return items?.find((replay) => replay.endpointId === endpointId && replay.finishedAt === null) as
    | Replay
    | undefined
}

const Steps = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const [isTested, setTested] = useState(false)
  const [started, setStarted] = useState<Replay | null>(null)
  const running = useRunning(endpoint.id)
  const replay = started ?? running
  const tested = useMemo(() => () => setTested(true), [])
  return (
    <Card>
      <ol className="relative max-w-3xl before:absolute before:inset-y-3 before:start-3.5 before:w-px before:-translate-x-1/2 before:bg-line">
        <Step number={1} title="Enable the endpoint" isDone={endpoint.enabled}>
          <EnableStep endpoint={endpoint} />
        </Step>
        <Step number={2} title="See whether it answers" isDone={isTested}>
          <TestStep endpoint={endpoint} onDelivered={tested} />
        </Step>
        <Step number={3} title="Replay what it did not get" isDone={replay?.state === "done"}>
          {replay === undefined || replay === null ? (
            <Choice endpoint={endpoint} start={setStarted} />
          ) : (
            <Progress replay={replay} />
          )}
        </Step>
      </ol>
    </Card>
  )
}

export const Recover = () => {
  const { slug } = useSession()
  const { endpointId } = useParams({ from: "/w/$slug/endpoints/$endpointId/recover" })
  const { data, error, refetch } = useOperation(
    "getWebhookEndpoint",
    { path: { endpointId } },
    { everyMs: 5_000 }
  )
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  return (
    <Page
      title="Recover"
      about={<span className="break-all">{shortUrl(data.url)}</span>}
      back={
        <Link
          to="/w/$slug/endpoints/$endpointId"
          params={{ slug, endpointId }}
          className="inline-flex min-h-6 items-center gap-1.5 rounded text-sm text-soft hover:text-ink"
        >
          <Icon name="back" size={14} />
          Endpoint
        </Link>
      }
    >
      <Steps endpoint={data} />
    </Page>
  )
}
