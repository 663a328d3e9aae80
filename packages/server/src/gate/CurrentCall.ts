/**
 * What the gate has to know of a call: how it came, under which trace, and how its caller proves who it is.
 *
 * Each transport gives it: REST (`http/Requests`), the console (`console/ConsoleApi`) and MCP (`mcp/ToolCalls`). It is the
 * only thing in which they differ; the gate and the operations behind it are the same.
 */
import { type InvalidRequest, type RateLimited, Unauthorized } from "@posthorn/domain/Errors"
import type { Via } from "@posthorn/domain/Principal"
import { Context, Effect } from "effect"
import type { Deadline } from "../http/Deadline.ts"
import type { Caller } from "./Caller.ts"

export interface Call {
  readonly via: Via
  readonly traceId: string
  /** The connection that it came on, whose publishes keep their order; null where there is no such promise. */
  readonly connection: string | null
  /** When it arrived, by `telemetry/Elapsed`. */
  readonly began: number
  /** Who calls. `slug` is the workspace in the path, if there is one. */
  readonly authenticate: (slug: string | undefined) => Effect.Effect<Caller, RateLimited | Unauthorized>
  /** When its operation is given up; null where the transport has a deadline of its own. */
  readonly deadline: Deadline | null
  /** A tool call is counted with its message, not by its operation's bucket and meters. */
  readonly isTool: boolean
  /** What is wrong with a tool's arguments: told once the gate is passed. */
  readonly fault: InvalidRequest | null
}

const nobody: Call = {
  via: "rest",
  traceId: "",
  connection: null,
  began: 0,
  authenticate: () => Effect.fail(new Unauthorized()),
  deadline: null,
  isTool: false,
  fault: null
}

export class CurrentCall extends Context.Reference<CurrentCall>()("@posthorn/server/CurrentCall", {
  defaultValue: () => nobody
}) {}
