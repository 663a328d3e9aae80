/** The signing secret, never shown, only replaced; the public key; and until when the previous ones also sign. */
import type { EndpointDetail } from "../../api/shapes.ts"
import { Link } from "../../session/Link.tsx"
import { useSession } from "../../session/session.tsx"
import { Code } from "../../ui/Code.tsx"
import { Card } from "../../ui/Layout.tsx"
import { Badge } from "../../ui/Status.tsx"
import { exactly, useCountdown } from "../../ui/Time.tsx"
import { CheckSignature } from "./CheckSignature.tsx"
import { RotateAndShow } from "./RotateAndShow.tsx"

const Secret = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may, slug } = useSession()
  const left = useCountdown(endpoint.previousSecretExpiresAt)
  return (
    <div className="grid gap-5">
      <Card
        title="Signing secret"
        about="Every delivery is signed with it. It cannot be read again, only replaced."
      >
        <div className="grid max-w-2xl gap-4">
          {left === null || endpoint.previousSecretExpiresAt === null ? null : (
            <div className="grid justify-items-start gap-1.5">
              <Badge tone="warn" icon="clock" title={exactly(endpoint.previousSecretExpiresAt)}>
                The old secret also signs for {left}
              </Badge>
              <p className="text-sm text-soft">
                The header <code className="text-xs">webhook-signature</code> holds two signatures until then;
                a receiver may check with either secret.
              </p>
            </div>
          )}
          {may("rotateWebhookSecret") ? (
            <RotateAndShow endpointId={endpoint.id} graceRuns={left !== null} />
          ) : (
            <p className="text-sm text-soft">You may not rotate it.</p>
          )}
          <p className="text-sm text-soft">
            <Link
              to="/w/$slug/endpoints/$endpointId"
              params={{ slug, endpointId: endpoint.id }}
              search={{ tab: "request" }}
              className="rounded text-accent-text underline underline-offset-2"
            >
              Code that verifies its signatures
            </Link>
          </p>
        </div>
      </Card>
      {may("explainSignature") ? <CheckSignature endpointId={endpoint.id} /> : null}
      {endpoint.publicKey === null ? null : (
        <Card
          title="Public key"
          about="Verifies the v1a entries of webhook-signature. It rotates with the secret, with the same 24 hours."
        >
          <Code text={endpoint.publicKey} label="Public key" wrap />
        </Card>
      )}
    </div>
  )
}

export default Secret
