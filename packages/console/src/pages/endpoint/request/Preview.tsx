/** The request as it will look, made by the same functions that make the real one. It holds no secret and no real signature. */

import {
  type DeliveryContent,
  outgoing,
  planOf,
  type RequestPlan,
  type Signers
} from "@posthorn/domain/OutgoingRequest"
import { contentTypeOf } from "@posthorn/domain/RequestBody"
import type { RequestProfile } from "@posthorn/domain/RequestProfile"
import { shownHeaders } from "@posthorn/domain/RequestSecrets"
import { useState } from "react"
import { useSession } from "../../../session/session.tsx"
import { Code } from "../../../ui/Code.tsx"
import { Card } from "../../../ui/Layout.tsx"

const signersOf = ({ schemes }: RequestPlan): Signers => ({
  standard: () => schemes.map((scheme) => `${scheme.slice("standard_".length)},<signature>`).join(" "),
  hmac: ({ format }, { id, timestamp }) =>
    format
      .replaceAll("{signature}", "<signature>")
      .replaceAll("{timestamp}", timestamp)
      .replaceAll("{id}", id)
})

const sampleOf = (slug: string, at: Date): DeliveryContent => ({
  deliveryId: "whd_64401b2c93f5e0b7d1c4a98e62f03" as DeliveryContent["deliveryId"],
  eventType: "invoice.paid",
  payload: '{"id":7,"amount":"129.00","currency":"EUR"}',
  createdAt: at.toISOString(),
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  isTest: false,
  slug
})

export const Preview = ({ profile, url }: { profile: RequestProfile; url: string }) => {
  const { slug, welcome } = useSession()
  const [at] = useState(() => new Date())
  const plan = planOf(profile)
  const { body, headers } = outgoing(
    plan,
    sampleOf(slug, at),
    String(Math.floor(at.getTime() / 1000)),
    signersOf(plan)
  )
  const all = {
    "content-type": contentTypeOf("envelope"),
    "user-agent": `Posthorn/${welcome.version}`,
    "accept-encoding": "identity",
    ...shownHeaders(profile),
    ...headers
  }
  const text = Object.entries(all)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n")
  return (
    <Card title="The request as it will look" about="A sample event, with what the form says now.">
      <div className="grid gap-3">
        <p className="font-mono text-xs break-all text-soft">POST {url}</p>
        <Code text={text} label="Headers of the sample request" wrap whole copies={false} />
        <Code text={body} label="Body of the sample request" wrap whole copies={false} />
        <p className="text-xs text-faint">
          {"<signature>"} is made anew for each request.
          {text.includes(": sealed:") ? " sealed:… stands for a secret: it is sent, and shown nowhere." : ""}
        </p>
      </div>
    </Card>
  )
}
