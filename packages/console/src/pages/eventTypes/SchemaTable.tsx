/** A payload's schema as a table: name, type, whether it is required, and words. Members of members open. */
import type { JsonSchema } from "@posthorn/domain/catalogue/JsonSchema"
import { type Member, outlineOf } from "@posthorn/domain/catalogue/Outline"
import { useMemo, useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Icon } from "../../ui/Icon.tsx"
import { Card } from "../../ui/Layout.tsx"
import { Prose } from "../../ui/Prose.tsx"

/** Deeper ones are indented no further. */
const MOST_INDENTED = 5
const INDENT = ["ps-0", "ps-5", "ps-10", "ps-15", "ps-20", "ps-25"]

/** "Open all" opens so many levels. */
const OPENED_LEVELS = 4

interface Shown {
  readonly member: Member
  readonly path: string
  readonly depth: number
}

const rowsOf = (
  members: ReadonlyArray<Member>,
  isOpen: (path: string) => boolean,
  above = "",
  depth = 0
): ReadonlyArray<Shown> =>
  members.flatMap((member, index) => {
    const path = `${above}/${index}`
    return [
      { member, path, depth },
      ...(member.hasMembers && isOpen(path) ? rowsOf(member.members(), isOpen, path, depth + 1) : [])
    ]
  })

/** A long schema opens only a part of it, so that the page stays quick. */
const MOST_OPENED = 400

const pathsOf = (members: ReadonlyArray<Member>) =>
  rowsOf(members, (path) => path.split("/").length <= OPENED_LEVELS)
    .slice(0, MOST_OPENED)
    .flatMap(({ member, path }) => (member.hasMembers ? [path] : []))

const Words = ({ member: { description, isDeprecated, limits } }: { member: Member }) => (
  <div className="grid min-w-0 gap-1">
    {isDeprecated ? <span className="text-xs text-warn">Deprecated</span> : null}
    {description === undefined ? null : <Prose text={description} />}
    {limits.length === 0 ? null : (
      <ul className="grid gap-0.5 text-xs text-faint">
        {limits.map((limit) => (
          <li key={limit} className="break-words first-letter:uppercase">
            {limit}
          </li>
        ))}
      </ul>
    )}
  </div>
)

const Name = ({
  depth,
  isFlat,
  isOpen,
  member,
  toggle
}: Shown & { isFlat: boolean; isOpen: boolean; toggle: () => void }) => (
  <div className={`flex items-start gap-1 ${INDENT[Math.min(depth, MOST_INDENTED)]}`}>
    {member.hasMembers ? (
      <button
        type="button"
        aria-expanded={isOpen}
        aria-label={`${isOpen ? "Close" : "Open"} ${member.name}`}
        onClick={toggle}
        className="-ms-1 grid size-6 shrink-0 place-items-center rounded text-faint hover:bg-hover hover:text-ink"
      >
        <Icon name={isOpen ? "down" : "right"} size={13} />
      </button>
    ) : isFlat ? null : (
      <span className="-ms-1 w-6 shrink-0" aria-hidden="true" />
    )}
    <div className="flex min-w-0 flex-wrap items-baseline gap-x-2 pt-0.5">
      <span className="font-mono text-xs font-medium break-all text-ink">
        {member.name === "*" ? "any other name" : member.name}
      </span>
      {member.isRequired ? <span className="text-xs text-warn">required</span> : null}
    </div>
  </div>
)

export const SchemaTable = ({ schema }: { schema: JsonSchema }) => {
  const outline = useMemo(() => outlineOf(schema), [schema])
  const members = useMemo(() => outline.members(), [outline])
  const nested = useMemo(() => pathsOf(members), [members])
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const rows = rowsOf(members, (path) => open.has(path))
  const toggle = (path: string) => {
    const next = new Set(open)
    if (!next.delete(path)) next.add(path)
    setOpen(next)
  }
  const isAllOpen = nested.every((path) => open.has(path))
  const about = [
    outline.type === "object" ? undefined : `The payload is ${outline.type}.`,
    ...outline.limits.map((limit) => `${limit[0]?.toUpperCase()}${limit.slice(1)}.`)
  ].filter((one) => one !== undefined)
  return (
    <Card
      title="Payload"
      about={about.length === 0 ? undefined : about.join(" ")}
      flush={members.length > 0}
      actions={
        nested.length === 0 ? null : (
          <Button small onPress={() => setOpen(new Set(isAllOpen ? [] : nested))}>
            {isAllOpen ? "Close all" : "Open all"}
          </Button>
        )
      }
    >
      {members.length === 0 ? (
        outline.description === undefined ? (
          <p className="text-sm text-soft">Nothing more is said of it.</p>
        ) : (
          <p className="text-sm text-soft">{outline.description}</p>
        )
      ) : (
        <table
          className="stacks w-full table-fixed border-collapse text-start text-sm"
          aria-label="Members of the payload"
        >
          <thead>
            <tr className="border-b">
              {[
                ["Name", "w-[36%] ps-5"],
                ["Type", "w-[22%]"],
                ["What it is", "pe-5"]
              ].map(([head, className]) => (
                <th
                  key={head}
                  scope="col"
                  className={`h-9 px-3 text-start text-xs font-medium text-faint ${className}`}
                >
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.path} className="border-b align-top last:border-b-0">
                <td data-narrow="plain" className="py-2.5 ps-5 pe-3">
                  <Name
                    {...row}
                    isFlat={nested.length === 0}
                    isOpen={open.has(row.path)}
                    toggle={() => toggle(row.path)}
                  />
                </td>
                <td data-label="Type" className="px-3 py-3 font-mono text-xs break-words text-soft">
                  <span className="min-w-0">{row.member.type}</span>
                </td>
                <td data-narrow="plain" className="py-2.5 ps-3 pe-5 text-soft">
                  <Words member={row.member} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}
