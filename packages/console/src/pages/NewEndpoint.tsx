/** A new endpoint: its fields, its secret, and a test event with its answer. */
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Answer } from "../api/contract.ts"
import { useAct } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Button, buttonClass } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { Empty, Refusal } from "../ui/States.tsx"
import { type Draft, EndpointFields, isComplete } from "./endpoint/EndpointForm.tsx"
import { RotateAndShow } from "./endpoint/RotateAndShow.tsx"
import { NO_SECRET, SecretFields, secretOf } from "./endpoint/SecretFields.tsx"
import { Outcome, useTest } from "./endpoint/Test.tsx"

const Made = ({
  endpoint,
  isTakenOver
}: {
  endpoint: Answer<"createWebhookEndpoint">
  /** Its receiver knows the secret already. */
  isTakenOver: boolean
}) => {
  const { may, slug } = useSession()
  const test = useTest(endpoint.id)
  return (
    <div className="grid max-w-2xl gap-5">
      <p role="status" className="flex items-center gap-2 font-medium text-good">
        <Icon name="checkCircle" />
        <span className="min-w-0 break-all">{endpoint.url} is registered.</span>
      </p>
      {may("rotateWebhookSecret") && !isTakenOver ? (
        <Card
          title="Signing secret"
          about="Your receiver checks signatures with it. It was made unseen: ask for one that you can copy."
        >
          <RotateAndShow endpointId={endpoint.id} isFirst />
        </Card>
      ) : null}
      {may("sendTestEvent") ? (
        <Card title="Does it answer?" about="A test event goes to this endpoint alone.">
          <div className="grid gap-3">
            <Refusal error={test.error} />
            {test.sent === undefined ? null : <Outcome delivery={test.delivery} />}
            <div>
              <Button
                look={test.isDelivered ? "plain" : "primary"}
                data-key="t"
                onPress={() => test.send()}
                isDisabled={test.isPending}
              >
                Send test event
              </Button>
            </div>
          </div>
        </Card>
      ) : null}
      <div>
        <Link
          to="/w/$slug/endpoints/$endpointId"
          params={{ slug, endpointId: endpoint.id }}
          className={buttonClass(test.isDelivered ? "primary" : "plain")}
        >
          Go to the endpoint
        </Link>
      </div>
    </div>
  )
}

export const NewEndpoint = () => {
  const { may, slug } = useSession()
  const navigate = useNavigate()
  const [draft, setDraft] = useState<Draft>({ url: "", description: "", eventTypes: ["*"] })
  const [secret, setSecret] = useState(NO_SECRET)
  const create = useAct("createWebhookEndpoint")
  const taken = secretOf(secret)
  const isReady = isComplete(draft) && taken !== undefined
  if (!may("createWebhookEndpoint"))
    return (
      <Page title="New endpoint">
        <Empty icon="key" title="You may not create endpoints" />
      </Page>
    )
  const submit = () =>
    create.mutate({
      body: {
        url: draft.url.trim(),
        eventTypes: draft.eventTypes,
        description: draft.description.trim() === "" ? null : draft.description.trim(),
        ...taken,
        enabled: true
      }
    })
  return (
    <Page
      title="New endpoint"
      about={create.data === undefined ? "Where events should go, and which." : "It receives from now on."}
      back={
        <Link
          to="/w/$slug/endpoints"
          params={{ slug }}
          className="inline-flex min-h-6 items-center gap-1.5 rounded text-sm text-soft hover:text-ink"
        >
          <Icon name="back" size={14} />
          Endpoints
        </Link>
      }
    >
      {create.data !== undefined ? (
        <Made endpoint={create.data} isTakenOver={secret.text !== ""} />
      ) : (
        <form
          className="max-w-2xl"
          onSubmit={(event) => {
            event.preventDefault()
            if (isReady) submit()
          }}
        >
          <Card>
            <EndpointFields
              draft={draft}
              change={(next) => {
                setDraft(next)
                if (create.isError) create.reset()
              }}
            />
            <details className="mt-5">
              <summary className="min-h-6 cursor-pointer text-sm font-medium">Advanced</summary>
              <div className="mt-4">
                <SecretFields
                  draft={secret}
                  change={(next) => {
                    setSecret(next)
                    if (create.isError) create.reset()
                  }}
                />
              </div>
            </details>
          </Card>
          <div className="mt-4 grid gap-4">
            <Refusal error={create.error} />
            <div className="flex gap-2">
              <Button type="submit" look="primary" isDisabled={create.isPending || !isReady}>
                Create endpoint
              </Button>
              <Button onPress={() => navigate({ to: "/w/$slug/endpoints", params: { slug } })}>Cancel</Button>
            </div>
          </div>
        </form>
      )}
    </Page>
  )
}
