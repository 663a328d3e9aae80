/**
 * A new endpoint: its fields, its secret, and a test event with its answer. The secret exists only in this component, as in
 * `RotateAndShow`.
 */
import { stringify } from "@posthorn/domain/JsonText"
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import type { Answer, Request } from "../api/contract.ts"
import { useAct } from "../api/queries.ts"
import { ButtonLink, Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { Empty, Refusal } from "../ui/States.tsx"
import { type Draft, EndpointFields, isComplete } from "./endpoint/EndpointForm.tsx"
import { sentOf as filterOf } from "./endpoint/filter/draft.ts"
import { ShownSecret } from "./endpoint/RotateAndShow.tsx"
import { Verifiers } from "./endpoint/request/Verifiers.tsx"
import { NO_SECRET, SecretFields, secretOf } from "./endpoint/SecretFields.tsx"
import { Outcome, useTest } from "./endpoint/Test.tsx"

type Created = Answer<"createWebhookEndpoint">

const DAYS = 7

const STANDARD = [{ scheme: "standard_v1" }] as const

/** Events that it wants, from before it was made. */
const Unsent = ({ endpointId }: { endpointId: string }) => {
  const { slug } = useSession()
  const count = useAct("startReplay")
  const { mutate } = count
  useEffect(() => {
    const since = new Date(Date.now() - DAYS * 86_400_000).toISOString()
    mutate({
      path: { endpointId },
      body: { since, includeUnsent: true, dryRun: true }
    } as unknown as Request<"startReplay">)
  }, [endpointId, mutate])
  const unsent = (count.data as { readonly unsent: number } | undefined)?.unsent ?? 0
  return unsent === 0 && !count.isError ? null : (
    <Card title="What it has not seen" about="Nothing of it is sent unless you choose so.">
      <div className="grid gap-3 text-sm">
        {count.isError ? (
          <Refusal error={count.error} />
        ) : (
          <p>
            <strong>{unsent.toLocaleString()}</strong>{" "}
            {unsent === 1 ? "event that it wants was" : "events that it wants were"} published in the last{" "}
            {DAYS} days, before it was made.
          </p>
        )}
        <div>
          <ButtonLink
            to="/w/$slug/endpoints/$endpointId/recover"
            params={{ slug, endpointId }}
            search={{ unsent: "yes" }}
          >
            Choose what to send
          </ButtonLink>
        </div>
      </div>
    </Card>
  )
}

const Made = ({ endpoint, putSecret }: { endpoint: Created; putSecret: () => void }) => {
  const { may, slug } = useSession()
  const test = useTest(endpoint.id)
  const told = useRef<HTMLParagraphElement>(null)
  // The form was longer, and scrolled.
  useEffect(() => {
    scrollTo(0, 0)
    told.current?.focus({ preventScroll: true })
  }, [])
  return (
    <div className="grid gap-5">
      <p ref={told} tabIndex={-1} className="flex items-center gap-2 font-medium text-good outline-none">
        <Icon name="checkCircle" />
        <span className="min-w-0 break-all">{endpoint.url} is registered.</span>
      </p>
      {endpoint.signingSecret === undefined ? null : (
        <div className="grid items-start gap-5 lg:grid-cols-2">
          <Card title="Signing secret" about="Your receiver checks signatures with it.">
            <ShownSecret secret={endpoint.signingSecret} put={putSecret} />
          </Card>
          <Verifiers signatures={STANDARD} />
        </div>
      )}
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
        <ButtonLink
          to="/w/$slug/endpoints/$endpointId"
          params={{ slug, endpointId: endpoint.id }}
          look={test.isDelivered ? "primary" : "plain"}
        >
          Go to the endpoint
        </ButtonLink>
      </div>
      {may("startReplay") ? <Unsent endpointId={endpoint.id} /> : null}
    </div>
  )
}

export const NewEndpoint = () => {
  const { may, slug } = useSession()
  const navigate = useNavigate()
  const [draft, setDraft] = useState<Draft>({ url: "", description: "", eventTypes: ["*"], filter: "" })
  const [secret, setSecret] = useState(NO_SECRET)
  const [made, setMade] = useState<Created | null>(null)
  const create = useAct("createWebhookEndpoint")
  const { reset } = create
  useEffect(() => reset, [reset])
  const taken = secretOf(secret)
  const isReady = isComplete(draft) && taken !== undefined
  if (!may("createWebhookEndpoint"))
    return (
      <Page title="New endpoint">
        <Empty icon="key" title="You may not create endpoints" />
      </Page>
    )
  const submit = () =>
    create.mutate(
      {
        body: stringify({
          url: draft.url.trim(),
          eventTypes: draft.eventTypes,
          filter: filterOf(draft.filter),
          description: draft.description.trim() === "" ? null : draft.description.trim(),
          ...taken,
          revealSecret: secret.text === "",
          enabled: true
        })
      } as unknown as Request<"createWebhookEndpoint">,
      {
        onSuccess: (answer) => {
          setMade(answer)
          reset()
        }
      }
    )
  return (
    <Page
      title="New endpoint"
      about={made === null ? "Where events should go, and which." : "It receives from now on."}
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
      {made !== null ? (
        <Made endpoint={made} putSecret={() => setMade({ ...made, signingSecret: undefined })} />
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
                if (create.isError) reset()
              }}
            />
            <details className="mt-5">
              <summary className="min-h-6 cursor-pointer text-sm font-medium">Advanced</summary>
              <div className="mt-4">
                <SecretFields
                  draft={secret}
                  change={(next) => {
                    setSecret(next)
                    if (create.isError) reset()
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
