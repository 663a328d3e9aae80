/**
 * Which OPERATOR_TOKEN is the present one, as it may be stored: console links and sessions that came from another open
 * nothing.
 *
 * Derived slowly, so that whoever reads the database cannot try guesses of the token on it. Source: spec §11.
 */
import { scrypt } from "node:crypto"
import { Context, Effect, Redacted } from "effect"

export class OperatorEpoch extends Context.Tag("@posthorn/capabilities/OperatorEpoch")<
  OperatorEpoch,
  string
>() {}

const BYTES = 8

export const epochOf = (operatorToken: Redacted.Redacted) =>
  Effect.async<string>((resume) =>
    scrypt(Redacted.value(operatorToken), "posthorn operator epoch", BYTES, (error, key) =>
      resume(error === null ? Effect.succeed(key.toString("hex")) : Effect.die(error))
    )
  )
