/** API tokens: their scopes in words, their text shown once. */
import type { Scope } from "@posthorn/domain/Permission"
import { useState } from "react"
import type { Answer, ItemOf } from "../api/contract.ts"
import { useAct, useList } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Code } from "../ui/Code.tsx"
import { Confirm, Dialog } from "../ui/Dialog.tsx"
import { Checkbox, Select, TextField } from "../ui/Field.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { Empty, Refusal } from "../ui/States.tsx"
import { Badge } from "../ui/Status.tsx"
import type { Column } from "../ui/Table.tsx"
import { Time } from "../ui/Time.tsx"
import { scopeWords } from "./scopes.ts"

type Row = ItemOf<"listApiTokens">

const lifetimes = [
  { id: "", label: "Never" },
  { id: "7", label: "In 7 days" },
  { id: "30", label: "In 30 days" },
  { id: "90", label: "In 90 days" },
  { id: "365", label: "In a year" }
]
const DAY_MS = 86_400_000

const bundles: Record<string, ReadonlyArray<string>> = {
  read: ["workspace:read", "notification:list", "member:list", "webhook:read"]
}

/** Users can grant only scopes that they have. */
const useScopes = (): ReadonlyArray<Scope> => {
  const { session } = useSession()
  const held = new Set(session.permissions)
  const all = Object.keys(scopeWords) as ReadonlyArray<Scope>
  const permissions = all.filter((scope) => scope !== "read" && scope !== "admin")
  return all.filter((scope) =>
    scope === "admin"
      ? permissions.every((each) => held.has(each))
      : (bundles[scope] ?? [scope]).every((each) => held.has(each))
  )
}

const Create = ({ close }: { close: () => void }) => {
  const offered = useScopes()
  const [name, setName] = useState("")
  const [chosen, setChosen] = useState<ReadonlyArray<Scope>>(
    offered.includes("event:publish") ? ["event:publish"] : []
  )
  const [days, setDays] = useState("")
  const [made, setMade] = useState<Answer<"createApiToken"> | null>(null)
  const create = useAct("createApiToken")
  const submit = () =>
    create.mutate(
      {
        body: {
          name: name.trim(),
          scopes: chosen,
          expiresAt: days === "" ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
        }
      },
      {
        onSuccess: (token) => {
          setMade(token)
          create.reset()
        }
      }
    )
  if (made !== null)
    return (
      <Dialog title="The new token" isOpen close={close} isDismissable={false} wide>
        <p className="text-sm text-soft">Copy it now: it is shown this once. Only a hash of it is kept.</p>
        <Code text={made.token} label="API token" wrap />
        <div className="flex justify-end">
          <Button look="primary" onPress={close}>
            I have stored it
          </Button>
        </div>
      </Dialog>
    )
  return (
    <Dialog title="New API token" isOpen close={close} wide>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (name.trim() !== "" && chosen.length > 0) submit()
        }}
      >
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          about="What it is for, such as Billing service."
          autoFocus
        />
        <fieldset className="grid gap-2">
          <legend className="mb-2 text-sm font-medium">Scopes</legend>
          <div className="relative grid max-h-72 auto-rows-max gap-2.5 overflow-y-auto rounded-md border p-3 sm:grid-cols-2">
            {offered.map((scope) => (
              <Checkbox
                key={scope}
                label={<span className="font-mono text-xs">{scope}</span>}
                about={scopeWords[scope]}
                isSelected={chosen.includes(scope)}
                onChange={(on) =>
                  setChosen(on ? [...chosen, scope] : chosen.filter((each) => each !== scope))
                }
              />
            ))}
          </div>
        </fieldset>
        <Select label="Expires" choices={lifetimes} value={days} onChange={setDays} />
        <Refusal error={create.error} />
        <div className="flex justify-end gap-2">
          <Button onPress={close}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            isDisabled={create.isPending || name.trim() === "" || chosen.length === 0}
          >
            Create token
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

const Revoke = ({ token }: { token: Row }) => {
  const revoke = useAct("revokeApiToken")
  const [asks, setAsks] = useState(false)
  const [all, setAll] = useState(false)
  return (
    <>
      <Button small look="danger" onPress={() => setAsks(true)}>
        Revoke
      </Button>
      <Confirm
        title={`Revoke ${token.name}?`}
        action="Revoke"
        danger
        isOpen={asks}
        close={() => setAsks(false)}
        isPending={revoke.isPending}
        error={revoke.error}
        confirm={() =>
          revoke.mutate({ path: { tokenId: token.id }, query: all ? { descendants: true } : {} } as never, {
            onSuccess: () => setAsks(false)
          })
        }
      >
        <p className="mb-3">
          It stops working within a second, for good. Console sessions that stand on it end.
        </p>
        <Checkbox label="Also every token that was made with it" isSelected={all} onChange={setAll} />
      </Confirm>
    </>
  )
}

const stateOf = ({ expiresAt, revokedAt }: Row) =>
  revokedAt !== null
    ? "revoked"
    : expiresAt !== null && Date.parse(expiresAt) <= Date.now()
      ? "expired"
      : "active"

export const ApiTokens = () => {
  const { may } = useSession()
  const query = useList("listApiTokens", { query: { limit: 50 } })
  const [isOpen, setOpen] = useState(false)
  const columns: ReadonlyArray<Column<Row>> = [
    {
      head: "Token",
      cell: ({ id, name }) => (
        <div className="min-w-0 py-2">
          <span className="block truncate font-medium">
            <bdi>{name}</bdi>
          </span>
          <span className="block truncate font-mono text-xs text-faint">{id}</span>
        </div>
      )
    },
    {
      head: "Scopes",
      className: "max-w-72",
      cell: ({ scopes }) => (
        <span className="line-clamp-2 font-mono text-xs text-soft" title={scopes.join(", ")}>
          {scopes.join(", ")}
        </span>
      )
    },
    {
      head: "State",
      className: "w-28",
      cell: (row) => {
        const state = stateOf(row)
        return state === "active" ? (
          <Badge tone="good" icon="checkCircle">
            Active
          </Badge>
        ) : (
          <Badge tone="idle" icon="pause">
            {state === "revoked" ? "Revoked" : "Expired"}
          </Badge>
        )
      }
    },
    {
      head: "Last used",
      className: "w-28 text-soft",
      cell: ({ lastUsedAt }) =>
        lastUsedAt === null ? <span className="text-faint">never</span> : <Time at={lastUsedAt} />
    },
    {
      head: "Expires",
      className: "w-28 text-soft",
      cell: ({ expiresAt }) =>
        expiresAt === null ? <span className="text-faint">never</span> : <Time at={expiresAt} />
    },
    ...(may("revokeApiToken")
      ? [
          {
            head: "Actions",
            hideHead: true,
            className: "w-28 text-end",
            cell: (token: Row) => (stateOf(token) === "active" ? <Revoke token={token} /> : null)
          }
        ]
      : [])
  ]
  const create = may("createApiToken") ? (
    <Button look="primary" icon="plus" onPress={() => setOpen(true)}>
      New token
    </Button>
  ) : null
  return (
    <Page
      title="API tokens"
      about="For programs: REST, MCP and the clients. Each may do what its scopes say."
      actions={create}
    >
      <Card flush>
        <List
          label="API tokens"
          query={query}
          columns={columns}
          empty={
            <Empty icon="tokens" title="No token yet">
              <p className="text-soft">A program sends its token with each call, as Authorization: Bearer.</p>
              {create}
            </Empty>
          }
        />
      </Card>
      {isOpen ? <Create close={() => setOpen(false)} /> : null}
    </Page>
  )
}
