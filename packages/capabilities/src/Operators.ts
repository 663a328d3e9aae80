/**
 * Who the operators are: the tokens of OPERATOR_TOKEN, newest first, each with the name that the audit log shows.
 *
 * An operator's epoch tells its token in what is stored: console links and sessions that came from a token open nothing once that
 * token is gone. It is derived slowly, so that whoever reads the database cannot try guesses of the token on it.
 * Source: spec §5.1 and §11.
 */
import { scrypt } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"

export interface OperatorToken {
  /** Null for a token without one. */
  readonly name: string | null
  readonly token: Redacted.Redacted
}

export interface Operator extends OperatorToken {
  readonly epoch: string
}

export class Operators extends Context.Tag("@posthorn/capabilities/Operators")<
  Operators,
  ReadonlyArray<Operator>
>() {}

const BYTES = 8

const epochOf = (token: Redacted.Redacted) =>
  Effect.async<string>((resume) =>
    scrypt(Redacted.value(token), "posthorn operator epoch", BYTES, (error, key) =>
      resume(error === null ? Effect.succeed(key.toString("hex")) : Effect.die(error))
    )
  )

export const layer = (tokens: ReadonlyArray<OperatorToken>) =>
  Layer.effect(
    Operators,
    Effect.forEach(tokens, (one) => Effect.map(epochOf(one.token), (epoch) => ({ ...one, epoch })))
  )
