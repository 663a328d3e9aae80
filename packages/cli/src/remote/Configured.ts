/** What `endpoints create`, `endpoints update` and `settings` set besides URL and subscriptions. */
import { Effect, Option } from "effect"
import { misused } from "../CommandFailed.ts"
import { members, print } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

export interface Configured {
  readonly policy: Option.Option<string>
  readonly externalId: Option.Option<string>
  readonly metadata: Option.Option<string>
}

/** `never`, because the contract judges it, before anything is sent. */
const jsonOf = <const Name extends string>(name: Name, text: Option.Option<string>) =>
  Option.match(text, {
    onNone: () => Effect.succeed<{ readonly [K in Name]?: never }>({}),
    onSome: (text) =>
      Effect.try(() => ({ [name]: JSON.parse(text) }) as { readonly [K in Name]?: never }).pipe(
        Effect.catchAll(() => misused(`--${name} is "${text}", but must be JSON`))
      )
  })

/** The members of a request; an empty external id takes it away, `null` a policy. */
export const configured = ({ externalId, metadata, policy }: Configured) =>
  Effect.map(Effect.all([jsonOf("policy", policy), jsonOf("metadata", metadata)]), ([policy, metadata]) => ({
    ...policy,
    ...metadata,
    ...(Option.isSome(externalId) && { externalId: externalId.value || null })
  }))

/** Shows the workspace's settings, changed first where something is given. */
export const settings = (policy: Option.Option<string>, json: boolean) =>
  Effect.gen(function* () {
    const payload = yield* jsonOf("policy", policy)
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ workspaceSettings }) =>
      Option.isNone(policy)
        ? workspaceSettings.getWorkspaceSettings({ path: { slug }, withResponse: true })
        : workspaceSettings.updateWorkspaceSettings({ path: { slug }, payload, withResponse: true })
    )
    yield* print(json, text, () => members(value))
  })
