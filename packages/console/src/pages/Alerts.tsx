/** Whom the workspace tells by e-mail and Slack that endpoints fail, and what was told. A Slack URL is written here and never shown. */
import { useState } from "react"
import type { Answer, ItemOf } from "../api/contract.ts"
import { useAct, useList } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Confirm, Dialog } from "../ui/Dialog.tsx"
import { Checkbox, Radios, TextField } from "../ui/Field.tsx"
import { Card } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { Empty, Refusal } from "../ui/States.tsx"
import { Badge } from "../ui/Status.tsx"
import { type Column, Table } from "../ui/Table.tsx"
import { Time } from "../ui/Time.tsx"

type Entry = Answer<"getWorkspaceSettings">["alerts"][number]
type Cause = Entry["on"][number]
type Told = ItemOf<"listAlerts">

const causes: ReadonlyArray<{ id: Cause; label: string; about: string }> = [
  { id: "endpoint.failing", label: "Failing", about: "Half of what disables it has failed." },
  { id: "endpoint.disabled", label: "Disabled", about: "Nothing is sent to it any more." },
  {
    id: "delivery.dead_lettered",
    label: "Given up",
    about: "The first delivery at once; what follows within the hour together at its end."
  }
]

const wordOf = (cause: Cause) => causes.find(({ id }) => id === cause)?.label ?? cause

const recipientOf = (entry: Entry) => (entry.kind === "email" ? entry.to : `Slack ${entry.fingerprint}`)

/** Kept with the list: an entry has no id of its own. */
const useAlerts = (present: ReadonlyArray<Entry>) => {
  const update = useAct("updateWorkspaceSettings")
  return {
    update,
    without: (gone: Entry, done: () => void) =>
      update.mutate({ body: { alerts: present.filter((entry) => entry !== gone) } }, { onSuccess: done })
  }
}

const Add = ({ close, present }: { close: () => void; present: ReadonlyArray<Entry> }) => {
  const [kind, setKind] = useState("email")
  const [to, setTo] = useState("")
  const [on, setOn] = useState<ReadonlyArray<Cause>>(causes.map(({ id }) => id))
  const { update } = useAlerts(present)
  const entry =
    kind === "email"
      ? { kind: "email" as const, to: to.trim(), on }
      : { kind: "slack" as const, url: to.trim(), on }
  return (
    <Dialog title="Add alert" isOpen close={close}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          // The contract's type of a secret is its sealed form.
          update.mutate({ body: { alerts: [...present, entry] } } as never, { onSuccess: close })
        }}
      >
        <Radios
          label="By"
          choices={[
            { id: "email", label: "E-mail" },
            { id: "slack", label: "Slack" }
          ]}
          value={kind}
          onChange={(next) => {
            setKind(next)
            setTo("")
          }}
        />
        {kind === "email" ? (
          <TextField
            label="Address"
            value={to}
            onChange={setTo}
            type="email"
            placeholder="oncall@example.com"
          />
        ) : (
          <TextField
            label="URL of an incoming webhook"
            value={to}
            onChange={setTo}
            type="password"
            about="Made in Slack, for one channel. It is kept sealed, and nobody sees it again."
          />
        )}
        <fieldset className="grid gap-2">
          <legend className="mb-2 text-sm font-medium">When</legend>
          {causes.map(({ about, id, label }) => (
            <Checkbox
              key={id}
              label={label}
              about={about}
              isSelected={on.includes(id)}
              onChange={(isOn) =>
                setOn(causes.map((one) => one.id).filter((one) => (one === id ? isOn : on.includes(one))))
              }
            />
          ))}
        </fieldset>
        <Refusal error={update.error} />
        <div className="flex justify-end gap-2">
          <Button onPress={close}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            isDisabled={update.isPending || to.trim() === "" || on.length === 0}
          >
            Add alert
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

const Remove = ({ entry, present }: { entry: Entry; present: ReadonlyArray<Entry> }) => {
  const { update, without } = useAlerts(present)
  const [asks, setAsks] = useState(false)
  return (
    <>
      <Button small look="danger" onPress={() => setAsks(true)}>
        Remove
      </Button>
      <Confirm
        title={`No longer tell ${recipientOf(entry)}?`}
        action="Remove"
        danger
        isOpen={asks}
        close={() => setAsks(false)}
        isPending={update.isPending}
        error={update.error}
        confirm={() => without(entry, () => setAsks(false))}
      >
        What has not been sent yet is not sent any more.
      </Confirm>
    </>
  )
}

const states: Record<Told["state"], { label: string; tone: "good" | "idle" | "bad" }> = {
  pending: { label: "Waiting", tone: "idle" },
  sent: { label: "Sent", tone: "good" },
  failed: { label: "Failed", tone: "bad" }
}

const told: ReadonlyArray<Column<Told>> = [
  {
    head: "State",
    className: "w-28",
    cell: ({ state }) => <Badge tone={states[state].tone}>{states[state].label}</Badge>
  },
  { head: "About", className: "w-28", cell: ({ on }) => wordOf(on) },
  {
    head: "To",
    className: "py-2",
    cell: ({ kind, lastError, to }) => (
      <span className="[overflow-wrap:anywhere]">
        {kind === "email" ? to : `Slack ${to}`}
        {lastError === null ? null : <span className="block text-xs text-faint">{lastError}</span>}
      </span>
    )
  },
  { head: "Attempts", className: "w-20 text-soft", cell: ({ attempts }) => attempts },
  { head: "When", className: "w-28 text-soft", cell: ({ createdAt }) => <Time at={createdAt} /> }
]

export const Alerts = ({ alerts }: { alerts: ReadonlyArray<Entry> }) => {
  const { may } = useSession()
  const [adds, setAdds] = useState(false)
  const mayChange = may("updateWorkspaceSettings")
  const query = useList("listAlerts", { query: { limit: 20 } }, { everyMs: 10_000 })
  const columns: ReadonlyArray<Column<Entry & { id: string }>> = [
    {
      head: "To",
      className: "py-2",
      cell: (entry) => <span className="[overflow-wrap:anywhere]">{recipientOf(entry)}</span>
    },
    { head: "When", cell: ({ on }) => on.map(wordOf).join(", ") },
    ...(mayChange
      ? [
          {
            head: "Remove",
            hideHead: true,
            className: "w-28 text-end",
            cell: ({ id: _, ...entry }: Entry & { id: string }) => (
              <Remove
                entry={alerts.find((one) => recipientOf(one) === recipientOf(entry as Entry))!}
                present={alerts}
              />
            )
          }
        ]
      : [])
  ]
  return (
    <div className="grid gap-6">
      <Card
        title="Alerts"
        about="Who is told that an endpoint fails. One letter for each, not for each attempt."
        flush
        actions={
          mayChange && alerts.length < 10 ? (
            <Button small onPress={() => setAdds(true)}>
              Add alert
            </Button>
          ) : undefined
        }
      >
        {alerts.length === 0 ? (
          <p className="px-5 py-6 text-sm text-soft">Nobody is told yet.</p>
        ) : (
          <Table
            label="Alerts"
            columns={columns}
            rows={alerts.map((entry) => ({ ...entry, id: recipientOf(entry) }))}
          />
        )}
      </Card>
      <Card title="What was told" flush>
        <List
          label="What was told"
          query={query}
          columns={told}
          empty={
            <Empty icon="notifications" title="Nothing was told">
              <p className="text-soft">
                When an endpoint fails, the letters and what became of them are here.
              </p>
            </Empty>
          }
        />
      </Card>
      {adds ? <Add close={() => setAdds(false)} present={alerts} /> : null}
    </div>
  )
}
