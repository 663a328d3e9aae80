/** Tests the endpoint with an event that the user chooses, and shows the result. */
import { useState } from "react"
import type { EndpointDetail } from "../../api/shapes.ts"
import { useSession } from "../../session/session.tsx"
import { Button } from "../../ui/Button.tsx"
import { TextField } from "../../ui/Field.tsx"
import { Card } from "../../ui/Layout.tsx"
import { Refusal } from "../../ui/States.tsx"
import { problemOfJson, publishBody } from "../publishBody.ts"
import { Outcome, useTest } from "./Test.tsx"

const TryIt = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may } = useSession()
  const [eventType, setEventType] = useState("webhook.test_event")
  const [payload, setPayload] = useState('{\n  "message": "Hello from the console"\n}')
  const test = useTest(endpoint.id)
  const problem = problemOfJson(payload)
  if (!may("sendTestEvent")) return null
  return (
    <Card
      title="Send a test event"
      about="Signed like any other and sent to this endpoint alone, whatever it subscribes to. Nobody else gets it."
    >
      <form
        className="grid max-w-2xl gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (problem === undefined) test.send(publishBody(eventType.trim(), payload))
        }}
      >
        {endpoint.enabled ? null : <Refusal error="The endpoint is disabled: enable it first." />}
        <TextField label="Event type" value={eventType} onChange={setEventType} mono />
        <TextField
          label="Payload"
          value={payload}
          onChange={setPayload}
          lines={8}
          mono
          error={problem}
          about="Any JSON. It is sent as written here."
        />
        <Refusal error={test.error} />
        <div>
          <Button
            type="submit"
            look="primary"
            isDisabled={test.isPending || problem !== undefined || !endpoint.enabled}
          >
            Send this event
          </Button>
        </div>
        {test.sent === undefined ? null : <Outcome delivery={test.delivery} />}
      </form>
    </Card>
  )
}

export default TryIt
