/** How long a receiver has to answer, as this installation is configured: what a diagnosis says of timeouts. */
import { Context } from "effect"

export class RequestDeadline extends Context.Reference<RequestDeadline>()(
  "@posthorn/capabilities/RequestDeadline",
  { defaultValue: () => ({ milliseconds: 10_000 }) }
) {}
