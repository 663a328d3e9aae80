/** What holds for all endpoints of the workspace that say nothing else, and whom it tells of them. */
import { resolve } from "@posthorn/domain/DeliveryPolicy"
import { useAct, useOperation } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Page } from "../ui/Layout.tsx"
import { Failed, Loading } from "../ui/States.tsx"
import { Alerts } from "./Alerts.tsx"
import { PolicyForm } from "./PolicyForm.tsx"

export const WorkspaceSettings = () => {
  const { may, welcome } = useSession()
  const settings = useOperation("getWorkspaceSettings", {})
  const update = useAct("updateWorkspaceSettings")
  return (
    <Page
      title="Settings"
      about="The policy of every endpoint that has none of its own, and who is told when one fails."
    >
      {settings.data !== undefined ? (
        <div className="grid gap-6">
          <PolicyForm
            about="What is left out is the default."
            policy={settings.data.policy}
            from="Default"
            upper={resolve(null, null, welcome.policyDefaults)}
            mayChange={may("updateWorkspaceSettings")}
            save={(policy) => update.mutate({ body: { policy } })}
            isPending={update.isPending}
            isSaved={update.isSuccess}
            error={update.error}
          />
          {may("listAlerts") ? <Alerts alerts={settings.data.alerts} /> : null}
        </div>
      ) : settings.error === null ? (
        <Loading />
      ) : (
        <Failed error={settings.error} retry={settings.refetch} />
      )}
    </Page>
  )
}
