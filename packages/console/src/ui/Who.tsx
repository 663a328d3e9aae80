/** Who did something, and through which transport. */
import { Id } from "./Copy.tsx"

const transports: Record<string, string> = {
  rest: "REST",
  mcp: "MCP",
  console: "console",
  worker: "worker",
  sql: "SQL"
}
const actors: Record<string, string> = {
  api_token: "API token",
  operator: "Operator",
  member: "Member",
  system: "Posthorn"
}

interface Actor {
  readonly type: string
  readonly id: string
  readonly via: string
  readonly name?: string | null
}

/** For events published in SQL, the role of the database session. */
export const Who = ({ actor: { id, name, type, via } }: { actor: Actor }) => (
  <div className="min-w-0">
    <span className="block">
      {via === "sql" ? `Role ${id}` : (actors[type] ?? type)} {name == null ? null : <bdi>{name} </bdi>}
      <span className="text-faint">through {transports[via] ?? via}</span>
    </span>
    {type === "operator" || type === "system" ? null : <Id id={id} />}
  </div>
)
