/** When deliveries of this endpoint are tried again, and when it is disabled. */
import { resolve } from "@posthorn/domain/DeliveryPolicy"
import type { Request } from "../../api/contract.ts"
import { useAct, useOperation } from "../../api/queries.ts"
import type { EndpointDetail } from "../../api/shapes.ts"
import { useSession } from "../../session/session.tsx"
import { Failed, Loading } from "../../ui/States.tsx"
import { PolicyForm } from "../PolicyForm.tsx"

const Policy = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may, welcome } = useSession()
  const settings = useOperation("getWorkspaceSettings", {})
  const update = useAct("updateWebhookEndpoint")
  if (settings.data === undefined)
    return settings.error === null ? <Loading /> : <Failed error={settings.error} retry={settings.refetch} />
  return (
    <PolicyForm
      key={endpoint.id}
      about="What is left out is the workspace's. A change holds from the next attempt on; times that are set stay."
      policy={endpoint.policy}
      from="As the workspace"
      upper={resolve(null, settings.data.policy, welcome.policyDefaults)}
      mayChange={may("updateWebhookEndpoint")}
      save={(policy) =>
        update.mutate({
          path: { endpointId: endpoint.id },
          body: { policy }
        } as Request<"updateWebhookEndpoint">)
      }
      isPending={update.isPending}
      isSaved={update.isSuccess}
      error={update.error}
    />
  )
}

export default Policy
