/** Changing an endpoint's settings, and deleting it. */

import { stringify } from "@posthorn/domain/JsonText"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Request } from "../../api/contract.ts"
import { useAct } from "../../api/queries.ts"
import type { EndpointDetail } from "../../api/shapes.ts"
import { useSession } from "../../session/session.tsx"
import { Button } from "../../ui/Button.tsx"
import { Code } from "../../ui/Code.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { inLines } from "../../ui/json.ts"
import { Card, Fact, Facts } from "../../ui/Layout.tsx"
import { Refusal } from "../../ui/States.tsx"
import { Time } from "../../ui/Time.tsx"
import { type Draft, EndpointFields, isComplete } from "./EndpointForm.tsx"
import { sentOf as filterOf, isSame } from "./filter/draft.ts"
import { draftOf as requestDraftOf, sentOf } from "./request/draft.ts"
import { elsewhere, issuesAt } from "./request/issues.ts"
import { asksAgain, SecretsAgain } from "./request/SecretsAgain.tsx"
import type { ShownEndpoint } from "./useEndpoint.ts"

const draftOf = ({ description, eventTypes, filterText, url }: ShownEndpoint): Draft => ({
  url,
  description: description ?? "",
  eventTypes,
  filter: filterText === null ? "" : inLines(filterText)
})

const changesOf = (before: Draft, draft: Draft) => ({
  ...(draft.url.trim() === before.url ? {} : { url: draft.url.trim() }),
  ...(draft.description.trim() === before.description
    ? {}
    : { description: draft.description.trim() === "" ? null : draft.description.trim() }),
  ...(draft.eventTypes.join() === before.eventTypes.join() ? {} : { eventTypes: draft.eventTypes }),
  ...(isSame(draft.filter, before.filter) ? {} : { filter: filterOf(draft.filter) })
})

const Edit = ({ endpoint }: { endpoint: ShownEndpoint }) => {
  const [draft, setDraft] = useState(() => draftOf(endpoint))
  const [secrets, setSecrets] = useState(() => requestDraftOf(endpoint.request))
  const update = useAct("updateWebhookEndpoint")
  const asks = asksAgain(endpoint.request, endpoint.url, draft.url.trim())
  const changes = { ...changesOf(draftOf(endpoint), draft), ...(asks && { request: sentOf(secrets) }) }
  const isChanged = Object.keys(changes).length > 0
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged && isComplete(draft))
          update.mutate(
            {
              path: { endpointId: endpoint.id },
              body: stringify(changes)
            } as unknown as Request<"updateWebhookEndpoint">,
            { onSuccess: ({ request }) => setSecrets(requestDraftOf(request)) }
          )
      }}
    >
      <Card title="Settings">
        <div className="grid max-w-2xl gap-5">
          <EndpointFields
            draft={draft}
            saved={draftOf(endpoint)}
            change={(next) => {
              setDraft(next)
              if (update.isError) update.reset()
            }}
          />
          {asks ? <SecretsAgain draft={secrets} at={issuesAt(update.error)} change={setSecrets} /> : null}
          <Refusal error={elsewhere(update.error)} />
          <div className="flex items-center gap-3">
            <Button
              type="submit"
              look="primary"
              isDisabled={!isChanged || !isComplete(draft) || update.isPending}
            >
              Save
            </Button>
            <span role="status" className="text-sm text-soft">
              {update.isSuccess && !isChanged ? "Saved" : ""}
            </span>
          </div>
        </div>
      </Card>
    </form>
  )
}

const Look = ({ endpoint }: { endpoint: ShownEndpoint }) => (
  <Card title="Settings">
    <Facts>
      <Fact name="URL">
        <span className="font-mono text-xs break-all">{endpoint.url}</span>
      </Fact>
      <Fact name="Description">
        <span dir="auto">{endpoint.description ?? "–"}</span>
      </Fact>
      <Fact name="Event types">
        <span className="font-mono text-xs break-all">{endpoint.eventTypes.join(", ")}</span>
      </Fact>
      <Fact name="Filter">
        {endpoint.filterText === null ? (
          "none"
        ) : (
          <Code text={inLines(endpoint.filterText)} label="Filter" copies={false} />
        )}
      </Fact>
    </Facts>
  </Card>
)

const Remove = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { slug } = useSession()
  const navigate = useNavigate()
  const remove = useAct("deleteWebhookEndpoint")
  const [asks, setAsks] = useState(false)
  return (
    <Card
      title="Delete this endpoint"
      about="Its deliveries and attempts go with it. To stop delivery and keep history, disable it."
    >
      <Button look="danger" onPress={() => setAsks(true)}>
        Delete
      </Button>
      <Confirm
        title="Delete this endpoint for good?"
        action="Delete for good"
        danger
        isOpen={asks}
        close={() => setAsks(false)}
        isPending={remove.isPending}
        error={remove.error}
        confirm={() =>
          remove.mutate(
            { path: { endpointId: endpoint.id } },
            { onSuccess: () => navigate({ to: "/w/$slug/endpoints", params: { slug }, replace: true }) }
          )
        }
      >
        <span className="break-all">{endpoint.url}</span> gets nothing more, and its whole history is removed.
      </Confirm>
    </Card>
  )
}

const Settings = ({ endpoint }: { endpoint: ShownEndpoint }) => {
  const { may } = useSession()
  return (
    <div className="grid gap-5">
      {may("updateWebhookEndpoint") ? (
        <Edit key={endpoint.id} endpoint={endpoint} />
      ) : (
        <Look endpoint={endpoint} />
      )}
      <Card title="About">
        <Facts>
          {endpoint.externalId === null ? null : (
            <Fact name="External id">
              <span className="font-mono text-xs break-all">{endpoint.externalId}</span>
            </Fact>
          )}
          {Object.entries(endpoint.metadata).map(([name, value]) => (
            <Fact key={name} name={name}>
              <span dir="auto" className="break-all">
                {value}
              </span>
            </Fact>
          ))}
          <Fact name="Created">
            <Time at={endpoint.createdAt} focusable />
          </Fact>
          <Fact name="Changed">
            <Time at={endpoint.updatedAt} focusable />
          </Fact>
        </Facts>
      </Card>
      {may("deleteWebhookEndpoint") ? <Remove endpoint={endpoint} /> : null}
    </div>
  )
}

export default Settings
