/** Who changed what, through which transport. */
import type { AuditAction } from "@posthorn/domain/AuditAction"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useMemo } from "react"
import type { ItemOf } from "../api/contract.ts"
import { useList } from "../api/queries.ts"
import { Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { Id } from "../ui/Copy.tsx"
import { FilterChoice, FilteredList, FilterText, FilterTime, filtersOf, sinceOf } from "../ui/Filters.tsx"
import { Page } from "../ui/Layout.tsx"
import { Empty } from "../ui/States.tsx"
import type { Column } from "../ui/Table.tsx"
import { Time } from "../ui/Time.tsx"
import { Who } from "../ui/Who.tsx"

type Row = ItemOf<"listAuditEvents">

const actions: Readonly<Record<AuditAction, string>> = {
  "workspace.created": "Workspace created",
  "workspace.updated": "Workspace changed",
  "workspace.deleted": "Workspace deleted",
  "workspace.settings_updated": "Workspace settings changed",
  "event.purged": "Event purged",
  "event_type.created": "Event type described",
  "event_type.updated": "Event type changed",
  "event_type.deleted": "Event type removed",
  "webhook.endpoint_created": "Endpoint created",
  "webhook.endpoint_updated": "Endpoint changed",
  "webhook.endpoint_deleted": "Endpoint deleted",
  "webhook.endpoint_auto_disabled": "Endpoint disabled by its failures",
  "webhook.secret_rotated": "Secret rotated",
  "webhook.delivery_replayed": "Delivery replayed",
  "webhook.delivery_resent": "Delivery resent",
  "webhook.replay_started": "Replay started",
  "webhook.replay_cancelled": "Replay cancelled",
  "api_token.created": "API token created",
  "api_token.revoked": "API token revoked",
  "member.added": "Member added",
  "member.updated": "Member changed",
  "member.removed": "Member removed",
  "console.link_created": "Console link made",
  "console.session_opened": "Signed in to the console",
  "console.session_ended": "Console session ended"
}

const show = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))

const Changes = ({ changes }: { changes: Row["changes"] }) => {
  if (changes === null) return null
  const { fields, from, to, ...facts } = changes as Record<string, unknown> & {
    fields: ReadonlyArray<string>
  }
  const [before, after] = [from, to] as [
    Record<string, unknown> | undefined,
    Record<string, unknown> | undefined
  ]
  return (
    <ul className="grid gap-0.5 text-xs text-soft">
      {before !== undefined && after !== undefined
        ? fields.map((field) => (
            <li key={field} className="break-all">
              {field}: <del className="text-faint">{show(before[field])}</del> →{" "}
              <ins className="no-underline">{show(after[field])}</ins>
            </li>
          ))
        : fields.length > 0
          ? [<li key="fields">{fields.join(", ")}</li>]
          : null}
      {Object.entries({
        ...(before === undefined || after === undefined ? (before ?? after) : {}),
        ...facts
      }).map(([name, value]) => (
        <li key={name} className="break-all">
          {name}: {show(value)}
        </li>
      ))}
    </ul>
  )
}

const Target = ({ slug, target: { id, type } }: { slug: string; target: Row["target"] }) => {
  const style =
    "inline-flex min-h-6 max-w-full items-center truncate rounded font-mono text-xs text-accent-text hover:underline"
  if (type === "webhook_endpoint" || id.startsWith("whe_"))
    return (
      <Link to="/w/$slug/endpoints/$endpointId" params={{ slug, endpointId: id }} className={style}>
        {id}
      </Link>
    )
  if (id.startsWith("whd_"))
    return (
      <Link to="/w/$slug/deliveries/$deliveryId" params={{ slug, deliveryId: id }} className={style}>
        {id}
      </Link>
    )
  return <Id id={id} />
}

const columns = (slug: string): ReadonlyArray<Column<Row>> => [
  {
    head: "What",
    className: "py-3 align-top",
    cell: ({ action, changes }) => (
      <div className="min-w-0">
        <span className="font-medium" title={action}>
          {actions[action as AuditAction] ?? action}
        </span>
        <Changes changes={changes} />
      </div>
    )
  },
  {
    head: "Who",
    className: "w-52 py-3 align-top",
    cell: ({ actor }) => <Who actor={actor} />
  },
  {
    head: "On",
    className: "w-72 py-3 align-top",
    cell: ({ target }) => <Target slug={slug} target={target} />
  },
  {
    head: "When",
    className: "w-28 py-3 align-top text-soft",
    cell: ({ createdAt }) => <Time at={createdAt} />
  }
]

export const AuditEvents = () => {
  const { slug } = useSession()
  const search = useSearch({ from: "/w/$slug/audit-log" })
  const navigate = useNavigate({ from: "/w/$slug/audit-log" })
  const { action, actor, target, within } = search
  const request = useMemo(
    () => ({ query: { limit: 50, action, actor, target, since: sinceOf(within) } }),
    [action, actor, target, within]
  )
  const query = useList("listAuditEvents", request as never, { everyMs: 15_000 })
  const filters = filtersOf(search, (search) => navigate({ search }))
  return (
    <Page
      title="Audit log"
      about="Every change with who made it. Written together with the change, and never altered."
    >
      <FilteredList
        label="Audit log"
        what="changes"
        filters={filters}
        query={query}
        columns={columns(slug)}
        bar={
          <>
            <FilterChoice
              filters={filters}
              name="action"
              label="Action"
              choices={[
                { id: "", label: "Any action" },
                ...Object.entries(actions).map(([id, label]) => ({ id, label }))
              ]}
            />
            <FilterText
              filters={filters}
              name="actor"
              label="Who"
              placeholder="By: an id, or an operator’s name"
            />
            <FilterText filters={filters} name="target" label="On" placeholder="On: an id" />
            <FilterTime filters={filters} />
          </>
        }
        empty={
          <Empty icon="audit" title="Nothing was changed yet">
            <p className="text-soft">
              Publishes and test sends are not listed: their deliveries are their record.
            </p>
          </Empty>
        }
      />
    </Page>
  )
}
