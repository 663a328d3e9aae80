/** What an endpoint's requests look like: a form with a live preview, and code that verifies what is saved. */
import { signaturesOf } from "@posthorn/domain/RequestProfile"
import { useState } from "react"
import type { Request as Sent } from "../../../api/contract.ts"
import { useAct } from "../../../api/queries.ts"
import type { EndpointDetail } from "../../../api/shapes.ts"
import { useSession } from "../../../session/session.tsx"
import { Button } from "../../../ui/Button.tsx"
import { Select } from "../../../ui/Field.tsx"
import { Card } from "../../../ui/Layout.tsx"
import { Refusal } from "../../../ui/States.tsx"
import { AuthenticationCheck } from "./AuthenticationCheck.tsx"
import { AuthenticationFields } from "./AuthenticationFields.tsx"
import { type Draft, draftOf, sentOf, shownOf } from "./draft.ts"
import { HeaderFields } from "./HeaderFields.tsx"
import { elsewhere, issuesAt } from "./issues.ts"
import { Preview } from "./Preview.tsx"
import { SignatureFields } from "./SignatureFields.tsx"
import { Verifiers } from "./Verifiers.tsx"

const bodies = [
  { id: "envelope", label: "Envelope", about: "The delivery's id, the event type and the payload." },
  { id: "payload", label: "Payload", about: "The payload alone, as it was published." },
  { id: "standard", label: "Standard Webhooks", about: "type, timestamp and the payload as data." },
  {
    id: "cloudevents",
    label: "CloudEvents",
    about: "CloudEvents 1.0 in one JSON object, the payload as data."
  }
] as const

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

const Form = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may } = useSession()
  const mayChange = may("updateWebhookEndpoint")
  const [saved, setSaved] = useState(endpoint.request)
  const [draft, setDraft] = useState(() => draftOf(endpoint.request))
  const update = useAct("updateWebhookEndpoint")
  const set = (more: Partial<Draft>) => {
    setDraft((old) => ({ ...old, ...more }))
    if (!update.isPending) update.reset()
  }
  const at = issuesAt(update.error)
  const request = sentOf(draft)
  const before = sentOf(draftOf(saved))
  const isChanged = !isSame(request, before)
  const save = () =>
    update.mutate({ path: { endpointId: endpoint.id }, body: { request } } as Sent<"updateWebhookEndpoint">, {
      onSuccess: (answer) => {
        setSaved(answer.request)
        setDraft(draftOf(answer.request))
      }
    })
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_minmax(0,30rem)]">
      <form
        className="min-w-0"
        onSubmit={(event) => {
          event.preventDefault()
          if (isChanged) save()
        }}
      >
        <Card
          title="Request"
          about="What deliveries and test events to this endpoint look like, from the next attempt on."
        >
          <fieldset disabled={!mayChange} className="group grid gap-6">
            <HeaderFields headers={draft.headers} at={at} change={(headers) => set({ headers })} />
            <AuthenticationFields
              authentication={draft.authentication}
              at={at}
              change={(authentication) => set({ authentication })}
              check={
                <AuthenticationCheck
                  key={JSON.stringify(saved?.authentication)}
                  endpointId={endpoint.id}
                  isSaved={isSame(request?.authentication, before?.authentication)}
                />
              }
            />
            <fieldset className="grid gap-3">
              <legend className="mb-2 text-sm font-semibold">Body</legend>
              <Select
                label="Shape"
                value={draft.body}
                onChange={(body) => set({ body } as Pick<Draft, "body">)}
                choices={bodies}
              />
              <p className="text-xs text-faint">{bodies.find(({ id }) => id === draft.body)?.about}</p>
            </fieldset>
            <SignatureFields
              signatures={draft.signatures}
              at={at}
              change={(signatures) => set({ signatures })}
            />
            <Refusal error={elsewhere(update.error)} />
            {mayChange ? (
              <div className="flex items-center gap-3">
                <Button type="submit" look="primary" isDisabled={!isChanged || update.isPending}>
                  Save request
                </Button>
                <span role="status" className="text-sm text-soft">
                  {update.isSuccess && !isChanged ? "Saved" : ""}
                </span>
              </div>
            ) : null}
          </fieldset>
        </Card>
      </form>
      <div className="min-w-0 lg:sticky lg:top-5">
        <Preview profile={shownOf(draft)} url={endpoint.url} />
      </div>
    </div>
  )
}

const Request = ({ endpoint }: { endpoint: EndpointDetail }) => (
  <div className="grid gap-5">
    <Form key={endpoint.id} endpoint={endpoint} />
    <Verifiers signatures={signaturesOf(endpoint.request ?? {})} />
  </div>
)

export default Request
