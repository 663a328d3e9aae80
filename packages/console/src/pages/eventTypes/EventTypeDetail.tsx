/** What the catalogue says of one event type, who wants it, and a test send of it. */
import type { JsonSchema } from "@posthorn/domain/catalogue/JsonSchema"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { callText, Problem } from "../../api/client.ts"
import type { Answer } from "../../api/contract.ts"
import { ActionLink, Link } from "../../session/Link.tsx"
import { useSession } from "../../session/session.tsx"
import { Button } from "../../ui/Button.tsx"
import { Code } from "../../ui/Code.tsx"
import { Select } from "../../ui/Field.tsx"
import { inLines, rawElements, rawMember } from "../../ui/json.ts"
import { Banner, Card } from "../../ui/Layout.tsx"
import { Prose } from "../../ui/Prose.tsx"
import { Empty, Failed, Loading, Refusal } from "../../ui/States.tsx"
import { Badge } from "../../ui/Status.tsx"
import { shortUrl } from "../../ui/shortUrl.ts"
import { Time } from "../../ui/Time.tsx"
import { Outcome, useTest } from "../endpoint/Test.tsx"
import { publishBody } from "../publishBody.ts"
import { useEndpoints } from "../useEndpoints.ts"
import { SchemaTable } from "./SchemaTable.tsx"
import { type EventType, wants } from "./useEventTypes.ts"

type Described = Answer<"getWorkspaceEventType">

const CHECKED = {
  off: null,
  report: {
    label: "Payloads are checked",
    title: "A payload that does not fit is published and counted."
  },
  refuse: {
    label: "Payloads must fit",
    title: "A payload that does not fit is refused when it is published."
  }
} as const

const typeLink = "rounded font-mono text-xs text-accent-text hover:underline"

const Head = ({
  described,
  summary
}: {
  described: Described | undefined
  summary: EventType | undefined
}) => {
  const { slug } = useSession()
  const eventType = described?.eventType ?? summary?.eventType ?? ""
  const checked = described === undefined ? null : CHECKED[described.validation]
  return (
    <header className="grid gap-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="font-mono text-lg font-semibold break-all">{eventType}</h2>
        {described?.deprecated ? (
          <Badge tone="warn" icon="warning">
            Deprecated
          </Badge>
        ) : null}
        {checked === null ? null : (
          <Badge tone="good" icon="checkCircle" title={checked.title}>
            {checked.label}
          </Badge>
        )}
      </div>
      {described === undefined ? (
        <p className="max-w-2xl text-soft">
          Nobody has described it: it is here because events of it were published.
        </p>
      ) : described.description === null ? null : (
        <p className="max-w-2xl text-soft">
          <Prose text={described.description} />
        </p>
      )}
      {described === undefined || described.replacedBy === null ? null : (
        <p className="text-sm">
          Use{" "}
          <Link
            to="/w/$slug/event-types"
            params={{ slug }}
            search={{ eventType: described.replacedBy }}
            className={typeLink}
          >
            {described.replacedBy}
          </Link>{" "}
          instead.
        </p>
      )}
      {summary === undefined ? null : (
        <p className="flex flex-wrap gap-x-5 gap-y-1 text-sm text-faint">
          {summary.lastSeenAt === null ? (
            <span>Never published</span>
          ) : (
            <>
              <span>
                Last published <Time at={summary.lastSeenAt} />
              </span>
              <Link
                to="/w/$slug/events"
                params={{ slug }}
                search={{ eventType }}
                className="rounded text-accent-text hover:underline"
              >
                {summary.lastDay.toLocaleString()} in the last 24 hours
              </Link>
            </>
          )}
        </p>
      )}
    </header>
  )
}

const Deviations = ({ deviations: { count, lastEventId, since } }: Pick<Described, "deviations">) => {
  const { slug } = useSession()
  if (count === 0) return null
  return (
    <div className="-mb-6">
      <Banner
        tone="warn"
        title={`${count.toLocaleString()} ${count === 1 ? "payload" : "payloads"} did not fit when they were published`}
        actions={
          lastEventId === null ? null : (
            <ActionLink
              to="/w/$slug/events/$eventId"
              params={{ slug, eventId: lastEventId }}
              className="inline-flex min-h-6 items-center rounded text-sm text-accent-text hover:underline"
            >
              See the newest
            </ActionLink>
          )
        }
      >
        {since === null ? null : (
          <>
            Published within the last 30 days, the first <Time at={since} />.
          </>
        )}
      </Banner>
    </div>
  )
}

const Examples = ({ texts }: { texts: ReadonlyArray<string> }) => (
  <Card
    title={texts.length === 1 ? "Example" : "Examples"}
    about="The payload; in a delivery it stands beside the delivery’s id and the event type."
  >
    <div className="grid gap-4">
      {texts.map((text, index) => (
        <Code
          key={index}
          text={inLines(text)}
          label={texts.length === 1 ? "Example" : `Example ${index + 1}`}
          tall
        />
      ))}
    </div>
  </Card>
)

const Wanted = ({ eventType, example }: { eventType: string; example: string | undefined }) => {
  const { may, slug } = useSession()
  const { endpoints } = useEndpoints()
  const wanting = endpoints.filter(({ eventTypes }) => wants(eventTypes, eventType))
  const enabled = endpoints.filter((one) => one.enabled)
  const [chosen, setChosen] = useState<string | undefined>(undefined)
  const target = chosen ?? wanting.find((one) => one.enabled)?.id ?? enabled[0]?.id
  const test = useTest(target ?? "")
  const maySend = may("sendTestEvent") && may("publishEvent") && target !== undefined
  return (
    <Card
      title="Endpoints that want it"
      about={wanting.length === 0 ? "None: events of this type go nowhere." : undefined}
    >
      <div className="grid gap-4">
        {wanting.length === 0 ? null : (
          <ul className="grid gap-1.5">
            {wanting.map(({ description, enabled, id, url }) => (
              <li key={id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 text-sm">
                <Link
                  to="/w/$slug/endpoints/$endpointId"
                  params={{ slug, endpointId: id }}
                  className="min-h-6 rounded break-all text-accent-text hover:underline"
                >
                  {shortUrl(url)}
                </Link>
                {description === null ? null : <span className="text-faint">{description}</span>}
                {enabled ? null : <span className="text-warn">disabled</span>}
              </li>
            ))}
          </ul>
        )}
        {maySend ? (
          <form
            className="grid gap-3 border-t pt-4"
            onSubmit={(event) => {
              event.preventDefault()
              test.send(publishBody(eventType, example ?? "{}"))
            }}
          >
            <div className="flex flex-wrap items-end gap-3">
              <div className="min-w-0 flex-1 basis-60">
                <Select
                  label="Send to"
                  value={target}
                  onChange={(id) => {
                    setChosen(id)
                    test.reset()
                  }}
                  choices={enabled.map(({ description, id, url }) => ({
                    id,
                    label: shortUrl(url),
                    ...(description !== null && description !== "" && { about: description })
                  }))}
                />
              </div>
              <Button type="submit" icon="send" isDisabled={test.isPending}>
                Send as test
              </Button>
            </div>
            <p className="text-xs text-faint">
              {example === undefined ? "An empty payload" : "The first example"}, signed like any other, for
              this endpoint alone.
            </p>
            <Refusal error={test.error} />
            {test.sent === undefined ? null : <Outcome delivery={test.delivery} />}
          </form>
        ) : null}
      </div>
    </Card>
  )
}

export const EventTypeDetail = ({
  eventType,
  summary
}: {
  eventType: string
  summary: EventType | undefined
}) => {
  const { slug } = useSession()
  const { data, error, refetch } = useQuery({
    queryKey: [slug, "getWorkspaceEventType", eventType],
    queryFn: async ({ signal }) => {
      try {
        const text = await callText(slug, "getWorkspaceEventType", { path: { eventType } }, signal)
        return {
          described: JSON.parse(text) as Described,
          examples: rawElements(rawMember(text, "examples") ?? "[]")
        }
      } catch (refusal) {
        if (refusal instanceof Problem && refusal.tag === "EventTypeNotFound") return null
        throw refusal
      }
    }
  })
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  if (data === null && summary === undefined)
    return (
      <Empty icon="eventTypes" title="There is no such event type">
        <p className="text-soft">
          It is not described, and no event of it was published in the last 30 days.
        </p>
      </Empty>
    )
  const schema = data?.described.schema as JsonSchema | null | undefined
  return (
    <div className="grid gap-5">
      <Head described={data?.described} summary={summary} />
      {data === null ? null : <Deviations deviations={data.described.deviations} />}
      {schema === undefined || schema === null ? null : <SchemaTable schema={schema} />}
      {data === null || data.examples.length === 0 ? null : <Examples texts={data.examples} />}
      <Wanted eventType={eventType} example={data?.examples[0]} />
    </div>
  )
}
