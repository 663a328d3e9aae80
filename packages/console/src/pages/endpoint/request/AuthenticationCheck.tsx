/** Tries the authentication that is saved: fetches a token, or looks at the certificate. The endpoint itself is not asked. */
import { useAct } from "../../../api/queries.ts"
import { useSession } from "../../../session/session.tsx"
import { Button } from "../../../ui/Button.tsx"
import { Refusal } from "../../../ui/States.tsx"
import { Badge } from "../../../ui/Status.tsx"
import { Time } from "../../../ui/Time.tsx"

export const AuthenticationCheck = ({
  endpointId,
  isSaved
}: {
  endpointId: string
  /** Whether the form says what is saved. */
  isSaved: boolean
}) => {
  const { may } = useSession()
  const check = useAct("checkAuthentication")
  if (!may("checkAuthentication")) return null
  const { data, error, isPending } = check
  const works = isSaved && data?.ok === true
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
        <Button
          small
          onPress={() => check.mutate({ path: { endpointId } })}
          isDisabled={!isSaved || isPending}
        >
          Check it
        </Button>
        {isSaved ? null : <span className="text-xs text-faint">Save first: what is saved is checked.</span>}
        <span role="status">
          {works ? (
            <Badge tone="good" icon="check">
              It works
            </Badge>
          ) : null}
        </span>
        {works && data.expiresAt !== null ? (
          <span className="text-soft">
            {data.kind === "mtls" ? "The certificate" : "The token"} expires <Time at={data.expiresAt} />
          </span>
        ) : null}
      </div>
      {isSaved ? <Refusal error={error ?? data?.reason} /> : null}
    </div>
  )
}
