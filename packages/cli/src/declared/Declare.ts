/**
 * `posthorn plan`, `apply` and `export`: a workspace's endpoints and settings, and the installation's event types, as a file.
 *
 * A plan reads everything that the file names, with the `ETag` of what would change, and changes nothing. `apply` makes the changes one
 * after the other, each only if nobody changed the same meanwhile; where Posthorn refuses one, it stops and says what was done.
 * Source: spec §13.
 */
import { Effect } from "effect"
import { stringify } from "yaml"
import { CommandFailed, refuse } from "../command/CommandFailed.ts"
import { counted } from "../command/Counted.ts"
import { textOf } from "../remote/JsonInput.ts"
import { agreed, isTerminal, print, talk } from "../remote/Output.ts"
import { Posthorn } from "../remote/Posthorn.ts"
import { type Declared, fileOf, type Members, readDeclared, unsetIn, withSecrets } from "./DeclaredFile.ts"
import { type Change, type Present, planOf, told } from "./Plan.ts"

export interface Options {
  readonly file: string
  readonly prune: boolean
  readonly secrets: boolean
}

interface Page {
  readonly items: ReadonlyArray<Members>
  readonly nextCursor: string | null
}

const allOf = (path: string) =>
  Effect.gen(function* () {
    const { exchange } = yield* Posthorn
    const all: Array<Members> = []
    for (let cursor: string | null = ""; cursor !== null; ) {
      const at: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
      const page = JSON.parse((yield* exchange("GET", `${path}?limit=200${at}`)).text) as Page
      all.push(...page.items)
      cursor = page.nextCursor
    }
    return all
  })

const read = (path: string) =>
  Effect.flatMap(Posthorn, ({ exchange }) =>
    Effect.map(exchange("GET", path), ({ etag, text }) => ({ etag, value: JSON.parse(text) as Members }))
  )

const workspacePath = Effect.map(Posthorn, ({ slug }) => `/workspaces/${encodeURIComponent(slug)}`)
const typePath = (name: string) => `/event-types/${encodeURIComponent(name)}`

const present = (declared: Partial<Declared>) =>
  Effect.gen(function* () {
    const workspace = yield* workspacePath
    return {
      eventTypes: declared.eventTypes === undefined ? [] : yield* allOf("/event-types"),
      endpoints: declared.endpoints === undefined ? [] : yield* allOf(`${workspace}/webhooks`),
      settings: declared.settings === undefined ? {} : (yield* read(`${workspace}/settings`)).value
    } satisfies Present
  })

/** 2 says that there is a difference, so nothing else may. */
const refusedWith1 = <A, R>(effect: Effect.Effect<A, CommandFailed, R>) =>
  Effect.mapError(effect, ({ line }) => new CommandFailed({ line, code: 1 }))

/** The file, what is there, and the changes between them. */
const planned = ({ file, ...options }: Options) =>
  Effect.gen(function* () {
    const read = readDeclared(yield* textOf(file))
    if (read._tag === "Left")
      return yield* refuse(`${file} is refused, and nothing was changed:\n${read.left.join("\n")}`)
    const declared = read.right
    const there = yield* present(declared)
    const changes = planOf(declared, there, options)
    const unset = changes.flatMap(({ members, sendsSecrets }) =>
      sendsSecrets ? unsetIn(members, process.env) : []
    )
    if (unset.length > 0)
      return yield* refuse(`Not set: ${[...new Set(unset)].join(", ")}. Nothing was changed.`)
    return { changes, declared, there }
  })

export const plan = (options: Options & { readonly json: boolean }) =>
  Effect.gen(function* () {
    const { changes } = yield* refusedWith1(planned(options))
    const shown = changes.map(({ action, differences, name, of }) => ({ action, of, name, differences }))
    yield* print(options.json, JSON.stringify(shown), () => told(changes))
    if (changes.length > 0)
      return yield* Effect.fail(
        new CommandFailed({
          line: `${counted(changes.length, "change")}: posthorn apply makes them.`,
          code: 2
        })
      )
    yield* talk("All is as the file says.")
  })

/** What changes, read once more with its `ETag`: a change by somebody else from here on makes Posthorn refuse ours. */
const reread = ({ action, id, of }: Change) =>
  Effect.gen(function* () {
    if (action === "create" || of === "settings") return { etag: undefined, value: undefined }
    return yield* read(of === "endpoint" ? `${yield* workspacePath}/webhooks/${id}` : typePath(id))
  })

const replaced = (all: ReadonlyArray<Members>, name: string, now: ReadonlyArray<Members | undefined>) =>
  all.map((one) => now.find((other) => other?.[name] === one[name]) ?? one)

const make = ({ action, id, members, of }: Change, etag: string | undefined) =>
  Effect.gen(function* () {
    const { exchange } = yield* Posthorn
    const workspace = yield* workspacePath
    const body = JSON.stringify(of === "endpoint" ? withSecrets(members, process.env) : members)
    const path =
      of === "settings"
        ? `${workspace}/settings`
        : of === "event type"
          ? typePath(id)
          : `${workspace}/webhooks${action === "create" ? "" : `/${id}`}`
    const method =
      action === "delete" ? "DELETE" : of === "event type" ? "PUT" : action === "create" ? "POST" : "PATCH"
    yield* exchange(method, path, action === "delete" ? undefined : body, etag)
  })

export const apply = (options: Options & { readonly yes: boolean }) =>
  Effect.gen(function* () {
    const { changes, declared, there } = yield* planned(options)
    if (changes.length === 0) return yield* talk("All is as the file says.")
    const reads = yield* Effect.forEach(changes, reread)
    const now = reads.map(({ value }) => value)
    const again = {
      settings: there.settings,
      endpoints: replaced(there.endpoints, "id", now),
      eventTypes: replaced(there.eventTypes, "eventType", now)
    }
    if (told(planOf(declared, again, options)) !== told(changes))
      return yield* refuse("Somebody changed it while it was read. Nothing was changed: run it again.")
    yield* print(false, "", () => told(changes))
    if (!options.yes && !isTerminal())
      return yield* refuse("Nothing was changed: say --yes, or call it in a terminal.")
    const gone = changes.filter(({ action, of }) => action === "delete" && of === "endpoint").length
    const loss = gone === 0 ? "" : `, ${counted(gone, "endpoint")} deleted with all deliveries`
    if (!options.yes && !(yield* agreed(`Make ${counted(changes.length, "change")}${loss}?`)))
      return yield* refuse("Nothing was changed.")
    for (const [index, change] of changes.entries())
      yield* Effect.mapError(make(change, reads[index]!.etag), ({ line }) => {
        const done = changes.slice(0, index)
        const said =
          done.length === 0
            ? "Nothing was changed."
            : `Done before:\n${told(done.map((one) => ({ ...one, differences: [] })))}`
        return new CommandFailed({ line: `${change.of} ${change.name}: ${line}\n${said}`, code: 1 })
      })
    yield* talk(`${counted(changes.length, "change")} made.`)
  }).pipe(refusedWith1)

/** As YAML, or with `--json` as JSON. */
export const exported = ({ eventTypes, json }: { readonly eventTypes: boolean; readonly json: boolean }) =>
  Effect.gen(function* () {
    const there = yield* present({ endpoints: [], settings: {}, ...(eventTypes && { eventTypes: [] }) })
    const file = fileOf(eventTypes ? there : { endpoints: there.endpoints, settings: there.settings })
    yield* print(json, JSON.stringify(file), () => stringify(file, { lineWidth: 0 }).trimEnd())
    const nameless = there.endpoints.filter(({ externalId }) => typeof externalId !== "string").length
    if (nameless > 0)
      yield* talk(
        `Left out: ${counted(nameless, "endpoint")} without external id. posthorn endpoints update ID --external-id NAME gives one.`
      )
  })
