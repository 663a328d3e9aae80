/** Tokens for the tests of `Identities`: real ones, forged ones, and look-ups that are delayed or changed. */
import { SqlClient } from "@effect/sql/SqlClient"
import { newId } from "@posthorn/domain/Ids"
import { ApiTokensRepo, type TokenIdentity } from "@posthorn/persistence/repositories/ApiTokensRepo"
import { Effect, Layer, Redacted } from "effect"
import { Identities } from "../src/Identities.ts"
import * as TokenText from "../src/TokenText.ts"

type Rows = Effect.Effect<ReadonlyArray<TokenIdentity>>

interface Between {
  /** What happens to a look-up of these tokens. */
  readonly lookUp?: (rows: Rows, tokenIds: ReadonlyArray<string>) => Rows
  readonly touched?: (tokenId: string) => void
}

/** `Identities` with an empty cache, with the test between it and the database. */
export const identitiesThat = ({ lookUp = (rows) => rows, touched = () => undefined }: Between) =>
  Effect.gen(function* () {
    const repo = yield* ApiTokensRepo
    const watched = {
      ...repo,
      findIdentities: (tokenIds: ReadonlyArray<string>) => lookUp(repo.findIdentities(tokenIds), tokenIds),
      touch: (...token: Parameters<typeof repo.touch>) => {
        touched(token[1])
        return repo.touch(...token)
      }
    } as ApiTokensRepo
    return yield* Effect.provide(
      Identities,
      Identities.DefaultWithoutDependencies.pipe(Layer.provide(Layer.succeed(ApiTokensRepo, watched)))
    )
  }).pipe(Effect.provide(ApiTokensRepo.Default))

export const makeToken = Effect.gen(function* () {
  const sql = yield* SqlClient
  const workspaceId = newId("workspace")
  const id = newId("token")
  const { secretHash, text } = TokenText.issue(id)
  yield* sql`insert into posthorn.workspaces (id, slug, name) values (${workspaceId}, ${workspaceId.slice(-20)}, 'W')`
  yield* sql`insert into posthorn.api_tokens (workspace_id, id, name, scopes, secret_hash)
    values (${workspaceId}, ${id}, 'T', '{read}', ${secretHash})`
  return { id, text: Redacted.value(text) }
})

/** A forged token: its checksum is right, and its id does not exist. */
export const forged = () => Redacted.value(TokenText.issue(newId("token")).text)
