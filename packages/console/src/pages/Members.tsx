/** The members of the workspace, and links for them. */
import { useState } from "react"
import type { ItemOf } from "../api/contract.ts"
import { useAct, useList } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Code } from "../ui/Code.tsx"
import { Confirm, Dialog } from "../ui/Dialog.tsx"
import { Select, TextField } from "../ui/Field.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { Empty, Refusal } from "../ui/States.tsx"
import type { Column } from "../ui/Table.tsx"
import { Time } from "../ui/Time.tsx"

type Row = ItemOf<"listMembers">
type Role = Row["role"]

const roles: ReadonlyArray<{ id: Role; label: string; about: string }> = [
  { id: "viewer", label: "Viewer", about: "Sees everything but tokens and the audit log; changes nothing." },
  { id: "developer", label: "Developer", about: "Also sets up endpoints, tests, replays and publishes." },
  { id: "admin", label: "Admin", about: "Everything, members and tokens included." }
]

const Add = ({ close }: { close: () => void }) => {
  const [name, setName] = useState("")
  const [email, setEmail] = useState("")
  const [role, setRole] = useState<Role>("developer")
  const add = useAct("addMember")
  return (
    <Dialog title="Add member" isOpen close={close}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          add.mutate({ body: { name: name.trim(), email: email.trim(), role } }, { onSuccess: close })
        }}
      >
        <TextField label="Name" value={name} onChange={setName} autoFocus />
        <TextField label="Email" value={email} onChange={setEmail} type="email" />
        <Select label="Role" choices={roles} value={role} onChange={(value) => setRole(value as Role)} />
        <Refusal error={add.error} />
        <div className="flex justify-end gap-2">
          <Button onPress={close}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            isDisabled={add.isPending || name.trim() === "" || email.trim() === ""}
          >
            Add member
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** A link that signs this member in, shown once. */
const Invite = ({ close, member }: { member: Row; close: () => void }) => {
  const make = useAct("createConsoleLink")
  return (
    <Dialog title={`Console link for ${member.name}`} isOpen close={close}>
      {make.data === undefined ? (
        <>
          <p className="text-sm text-soft">
            Whoever opens the link first is signed in as {member.name}. It works once, within 10 minutes: give
            it to nobody else. The session that it opens ends when yours does.
          </p>
          <Refusal error={make.error} />
          <div className="flex justify-end gap-2">
            <Button onPress={close}>Cancel</Button>
            <Button
              look="primary"
              isDisabled={make.isPending}
              onPress={() => make.mutate({ body: { memberId: member.id } } as never)}
            >
              Make the link
            </Button>
          </div>
        </>
      ) : (
        <>
          <Code text={make.data.url} label="Console link" wrap />
          <div className="flex justify-end">
            <Button onPress={close}>Done</Button>
          </div>
        </>
      )}
    </Dialog>
  )
}

const RoleOf = ({ member }: { member: Row }) => {
  const { may } = useSession()
  const update = useAct("updateMember")
  if (!may("updateMember")) return <span>{roles.find(({ id }) => id === member.role)?.label}</span>
  return (
    <div className="grid justify-items-start gap-1">
      <Select
        label="Role"
        hideLabel
        small
        choices={roles}
        value={member.role}
        onChange={(role) =>
          update.mutate({ path: { memberId: member.id }, body: { role: role as Role } } as never)
        }
      />
      <Refusal error={update.error} />
    </div>
  )
}

const Remove = ({ member }: { member: Row }) => {
  const remove = useAct("removeMember")
  const [asks, setAsks] = useState(false)
  return (
    <>
      <Button small look="danger" onPress={() => setAsks(true)}>
        Remove
      </Button>
      <Confirm
        title={`Remove ${member.name}?`}
        action="Remove"
        danger
        isOpen={asks}
        close={() => setAsks(false)}
        isPending={remove.isPending}
        error={remove.error}
        confirm={() => remove.mutate({ path: { memberId: member.id } }, { onSuccess: () => setAsks(false) })}
      >
        Sessions of {member.email} end at once. Tokens that they made stay.
      </Confirm>
    </>
  )
}

type Session = ItemOf<"listConsoleSessions">

const openedBy = ({ madeBy, via }: Session) =>
  `${via === "link" ? "Link made by" : "Signed in with"} ${madeBy.type === "operator" ? "the operator" : madeBy.id}`

const EndSession = ({ session }: { session: Session }) => {
  const end = useAct("endConsoleSession")
  const [asks, setAsks] = useState(false)
  return (
    <>
      <Button small look="danger" onPress={() => setAsks(true)}>
        End
      </Button>
      <Confirm
        title="End this session?"
        action="End session"
        danger
        isOpen={asks}
        close={() => setAsks(false)}
        isPending={end.isPending}
        error={end.error}
        confirm={() => end.mutate({ path: { sessionId: session.id } }, { onSuccess: () => setAsks(false) })}
      >
        Links, sessions and API tokens that were made in it stop working too.
      </Confirm>
    </>
  )
}

/** Who is signed in. Others' sessions can be ended here; signing out ends one's own. */
const Sessions = ({ members }: { members: ReadonlyArray<Row> }) => {
  const { may } = useSession()
  const query = useList("listConsoleSessions", { query: { limit: 50 } })
  const columns: ReadonlyArray<Column<Session>> = [
    {
      head: "Session",
      cell: (session) => (
        <div className="min-w-0 py-2">
          <span className="block truncate font-medium">
            <bdi>
              {members.find(({ id }) => id === session.memberId)?.name ?? session.memberId ?? "No member"}
            </bdi>
          </span>
          <span className="block truncate text-xs text-faint">{openedBy(session)}</span>
        </div>
      )
    },
    {
      head: "Role",
      className: "w-32",
      cell: ({ role }) => roles.find(({ id }) => id === role)?.label ?? "By its scopes"
    },
    { head: "Last seen", className: "w-32", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
    { head: "Ends", className: "w-32", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    ...(may("addMember")
      ? [
          {
            head: "Actions",
            hideHead: true,
            className: "w-24 text-end",
            cell: (session: Session) => <EndSession session={session} />
          }
        ]
      : [])
  ]
  return (
    <Card title="Signed in" flush>
      <List
        label="Console sessions"
        query={query}
        columns={columns}
        empty={<Empty icon="members" title="Nobody is signed in" />}
      />
    </Card>
  )
}

export const Members = () => {
  const { may } = useSession()
  const query = useList("listMembers", { query: { limit: 50 } })
  const [opened, setOpened] = useState<"add" | Row | null>(null)
  const columns: ReadonlyArray<Column<Row>> = [
    {
      head: "Member",
      cell: ({ email, name }) => (
        <div className="min-w-0 py-2">
          <span className="block truncate font-medium">
            <bdi>{name}</bdi>
          </span>
          <span className="block truncate text-xs text-faint">{email}</span>
        </div>
      )
    },
    { head: "Role", className: "w-56", cell: (member) => <RoleOf member={member} /> },
    ...(may("createConsoleLink") || may("removeMember")
      ? [
          {
            head: "Actions",
            hideHead: true,
            className: "w-64 text-end",
            cell: (member: Row) => (
              <span className="inline-flex flex-wrap justify-end gap-2">
                {may("createConsoleLink") ? (
                  <Button small onPress={() => setOpened(member)}>
                    Console link
                  </Button>
                ) : null}
                {may("removeMember") ? <Remove member={member} /> : null}
              </span>
            )
          }
        ]
      : [])
  ]
  const add = may("addMember") ? (
    <Button look="primary" icon="plus" onPress={() => setOpened("add")}>
      Add member
    </Button>
  ) : null
  return (
    <Page title="Members" about="Who may use this console, and as what." actions={add}>
      <div className="grid gap-5">
        <Card flush>
          <List
            label="Members"
            query={query}
            columns={columns}
            empty={
              <Empty icon="members" title="No member yet">
                <p className="text-soft">
                  A member signs in by a console link that is made for them, and may do what their role says.
                </p>
                {add}
              </Empty>
            }
          />
        </Card>
        <Sessions members={query.items ?? []} />
      </div>
      {opened === "add" ? <Add close={() => setOpened(null)} /> : null}
      {opened !== null && opened !== "add" ? <Invite member={opened} close={() => setOpened(null)} /> : null}
    </Page>
  )
}
