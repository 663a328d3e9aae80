/** How a command ends that was refused, or asked in a wrong way. */
import { Data, Effect } from "effect"

/** Why a command ends: the line is for a person, the code for a script (1 refused, 2 wrongly asked). */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly line: string
  readonly code: 1 | 2
}> {
  override get message() {
    return this.line
  }
}

export const refuse = (line: string) => Effect.fail(new CommandFailed({ line, code: 1 }))
export const misused = (line: string) => Effect.fail(new CommandFailed({ line, code: 2 }))
