/** The failure of a command that was refused, or called with wrong arguments. */
import { Data, Effect } from "effect"

/** The command failed. The line is for a person, the exit code for a script (1: refused, 2: wrong arguments). */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly line: string
  readonly code: 1 | 2
  /** No answer came, so what was asked for may have been done. */
  readonly isUnanswered?: boolean
}> {
  override get message() {
    return this.line
  }
}

export const refuse = (line: string) => Effect.fail(new CommandFailed({ line, code: 1 }))
export const misused = (line: string) => Effect.fail(new CommandFailed({ line, code: 2 }))
