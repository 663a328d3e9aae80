/**
 * What the gate needs to know of a call: its transport, its trace, and how its caller is authenticated.
 *
 * Each transport provides it: REST (`http/Requests`), the console (`console/ConsoleApi`) and MCP (`mcp/ToolCalls`). The
 * gate and the operations behind it are the same for all. MCP has no `If-Match`, `ETag` or `Location`, and reads null as left out.
 */
import { type InvalidRequest, type RateLimited, Unauthorized } from "@posthorn/domain/Errors"
import type { Via } from "@posthorn/domain/Principal"
import { Context, Effect } from "effect"
import type { Deadline } from "../calls/Deadline.ts"
import type { Caller } from "./AuthenticatedCaller.ts"

export interface Call {
  readonly via: Via
  readonly traceId: string
  /** The connection whose publishes keep their order; null if the transport does not promise that. */
  readonly connection: string | null
  /** When it arrived, by `telemetry/Elapsed`. */
  readonly began: number
  /** Whose share of what this server holds at once the call counts against: its address, and once the gate knows it, its caller. */
  readonly holder: { key: string }
  /** Authenticates the caller. `slug` is the workspace in the path, if there is one. */
  readonly authenticate: (slug: string | undefined) => Effect.Effect<Caller, RateLimited | Unauthorized>
  /** The operation's deadline; null if the transport has its own. */
  readonly deadline: Deadline | null
  /** Whether it is a tool call. Those are counted with their message, not in their operation's bucket and meters. */
  readonly isTool: boolean
  /** What is wrong with a tool's arguments. It is reported only after the gate is passed. */
  readonly fault: InvalidRequest | null
}

const nobody: Call = {
  via: "rest",
  traceId: "",
  connection: null,
  began: 0,
  holder: { key: "" },
  authenticate: () => Effect.fail(new Unauthorized()),
  deadline: null,
  isTool: false,
  fault: null
}

export class CurrentCall extends Context.Reference<CurrentCall>()("@posthorn/server/CurrentCall", {
  defaultValue: () => nobody
}) {}
