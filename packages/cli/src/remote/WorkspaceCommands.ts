/**
 * `posthorn workspace ensure`: a workspace and a token for a set-up script, made or found. It may be repeated, also by two at once:
 * both get the same.
 *
 * A token's text is shown by the call that makes it, and never again. Source: spec §5.1 and §10.
 */
import { items } from "@posthorn/client/Pagination"
import { Scope } from "@posthorn/domain/Permission"
import { Chunk, Clock, Effect, Option, Schedule, Schema, Stream } from "effect"
import { misused, refuse } from "../command/CommandFailed.ts"
import { sayToTheLetter } from "../command/Terminal.ts"
import { settings } from "../settings/Settings.ts"
import { Posthorn } from "./Posthorn.ts"

interface Ensure {
  readonly slug: string
  readonly name: Option.Option<string>
  readonly tokenName: Option.Option<string>
  readonly scopes: Option.Option<string>
}

/** The newest of the operators' tokens, where this command has it. Without it POSTHORN_TOKEN has to be one. */
export const operatorsToken = settings.pipe(
  Effect.map(({ operatorTokens }) => Option.map(operatorTokens, ([newest]) => newest!.token)),
  Effect.catchTag("InvalidEnvironment", ({ message }) => misused(message))
)

const readScopes = (text: string) =>
  Schema.decodeUnknown(Schema.Array(Scope))(text.split(",").map((scope) => scope.trim())).pipe(
    Effect.catchAll(() =>
      misused(`--scopes is "${text}", but must be scopes separated by commas, such as read,event:publish`)
    )
  )

/** For as long as the call of somebody else with the same key lasts. */
const whileInUse = Schedule.spaced("200 millis").pipe(Schedule.intersect(Schedule.recurs(50)))

const ensureWorkspace = ({ name, slug }: Ensure) =>
  Effect.gen(function* () {
    const { ask } = yield* Posthorn
    const payload = { slug, name: Option.getOrElse(name, () => slug) }
    const made = yield* ask(({ workspaces }) =>
      workspaces.createWorkspace({ headers: {}, payload }).pipe(
        Effect.map((workspace) => [Option.some(workspace)] as const),
        Effect.catchTag("WorkspaceSlugTaken", () => Effect.succeed([Option.none()] as const))
      )
    )
    if (Option.isSome(made.value)) return { workspace: made.value.value, created: true }
    const found = yield* ask(({ workspaces }) =>
      items((cursor) => workspaces.listWorkspaces({ urlParams: { limit: 200, cursor } })).pipe(
        Stream.filter((workspace) => workspace.slug === slug),
        Stream.runHead,
        Effect.map((workspace) => [workspace] as const)
      )
    )
    return Option.isSome(found.value)
      ? { workspace: found.value.value, created: false }
      : yield* refuse(`The workspace ${slug} was deleted meanwhile: try again.`)
  })

/** A token that is there must have the scopes that are asked for by name. */
const ensureToken = (slug: string, name: string, asked: Option.Option<ReadonlyArray<Scope>>) =>
  Effect.gen(function* () {
    const { ask } = yield* Posthorn
    const now = yield* Clock.currentTimeMillis
    const { value: named } = yield* ask(({ apiTokens }) =>
      items((cursor) => apiTokens.listApiTokens({ path: { slug }, urlParams: { limit: 200, cursor } })).pipe(
        Stream.filter((token) => token.name === name),
        Stream.runCollect,
        Effect.map((all) => [Chunk.toReadonlyArray(all)] as const)
      )
    )
    const open = named.find(
      ({ expiresAt, revokedAt }) => revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > now)
    )
    if (open !== undefined) {
      const isOther = Option.exists(
        asked,
        (scopes) => scopes.toSorted().join() !== open.scopes.toSorted().join()
      )
      return isOther
        ? yield* refuse(
            `The token ${name} of ${slug} has the scopes ${open.scopes.join()}: revoke it, or ensure one of another name.`
          )
        : { id: open.id, name, created: false, token: null }
    }
    const scopes = Option.getOrElse(asked, (): ReadonlyArray<Scope> => ["admin"])
    // Two at once have one key. After a token was revoked, it is another one.
    const headers = { "idempotency-key": `workspace-ensure-${named.length}-${name}` }
    const { value: made } = yield* ask(({ apiTokens }) =>
      apiTokens.createApiToken({ path: { slug }, headers, payload: { name, scopes } }).pipe(
        Effect.retry({ while: ({ _tag }) => _tag === "IdempotencyKeyInUse", schedule: whileInUse }),
        Effect.map((token) => [token] as const)
      )
    )
    return { id: made.id, name, created: true, token: made.token }
  })

export const ensure = (given: Ensure) =>
  Effect.gen(function* () {
    const scopes = yield* Effect.transposeOption(Option.map(given.scopes, readScopes))
    const { created, workspace } = yield* ensureWorkspace(given)
    const token = Option.isNone(given.tokenName)
      ? null
      : yield* ensureToken(given.slug, given.tokenName.value, scopes)
    yield* sayToTheLetter(JSON.stringify({ workspace, created, token }))
  })
