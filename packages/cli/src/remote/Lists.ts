/**
 * The commands that list: `deliveries`, `events`, `audit`, `tokens`, `members`, `notifications`, `workspaces`, `endpoints list`.
 *
 * Each shows one page, or with `--all` every page. `--json` prints the REST answer; with `--all` one document of the same shape,
 * whose items are the exact texts of all answers. Where there is more, a line on standard error names `--cursor`.
 */
import { type JsonText, parseJson, stringify } from "@posthorn/domain/JsonText"
import { readTime } from "@posthorn/domain/Time"
import { Clock, Effect, Either, Option } from "effect"
import { misused } from "../command/CommandFailed.ts"
import { type Cell, print, table, talk } from "./Output.ts"
import { type Answered, Posthorn } from "./Posthorn.ts"
import { momentOf } from "./Times.ts"

export interface Paging {
  readonly limit: number
  readonly cursor: Option.Option<string>
  readonly all: boolean
  readonly json: boolean
}

export interface Between {
  readonly since: Option.Option<string>
  readonly until: Option.Option<string>
}

interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

/** Of a page when all are asked for. */
const LARGEST = 200

/** Each item as its exact text. */
export const itemTexts = (text: string): ReadonlyArray<string> => {
  const page = Either.getOrThrow(parseJson(text, [["items", "*"]])) as {
    readonly items: ReadonlyArray<JsonText>
  }
  return page.items.map((item) => stringify(item))
}

/** The members of these options that were given. */
export const given = <Name extends string>(
  options: Readonly<Record<Name, Option.Option<string>>>
): { readonly [K in Name]?: string } =>
  Object.fromEntries(
    Object.entries<Option.Option<string>>(options).flatMap(([name, value]) =>
      Option.toArray(value).map((text) => [name, text])
    )
  ) as { readonly [K in Name]?: string }

const timeOf = (flag: string, text: Option.Option<string>) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Option.match(text, {
      onNone: () => Effect.succeed(Option.none<string>()),
      onSome: (text) => {
        const moment = momentOf(text, now)
        return moment === undefined || readTime(moment) === undefined
          ? misused(`${flag} is "${text}", but must be like 2h, 30m, 1d or 2026-11-22T09:00:00Z`)
          : Effect.succeed(Option.some(moment))
      }
    })
  )

/** As RFC 3339, what was given of both. */
export const timesOf = ({ since, until }: Between) =>
  Effect.map(Effect.all({ since: timeOf("--since", since), until: timeOf("--until", until) }), given)

interface Shown<A> {
  readonly heads: ReadonlyArray<string>
  readonly cells: (item: A) => ReadonlyArray<Cell>
  /** Said if there is none. */
  readonly empty: string
  /** Paragraphs before and after the table; `isAll`: these are all items. */
  readonly around?: (items: ReadonlyArray<A>, isAll: boolean) => readonly [before: string, after: string]
}

/** One page, or all of them, of what `read` answers for a limit and a cursor. */
export const showList = <A, E, R>(
  { all, cursor, json, limit }: Paging,
  read: (page: {
    readonly limit: number
    readonly cursor?: string
  }) => Effect.Effect<Answered<Page<A>>, E, R>,
  { around, cells, empty, heads }: Shown<A>
) =>
  Effect.gen(function* () {
    const answers: Array<Answered<Page<A>>> = []
    let next = Option.getOrNull(cursor)
    do {
      const answer = yield* read({
        limit: all ? LARGEST : limit,
        ...(next !== null && { cursor: next })
      })
      answers.push(answer)
      next = answer.value.nextCursor
    } while (all && next !== null)
    const items = answers.flatMap(({ value }) => value.items)
    const text = all
      ? `{"items":[${answers.flatMap((answer) => itemTexts(answer.text)).join(",")}],"nextCursor":null}`
      : answers[0]!.text
    yield* print(json, text, () => {
      if (items.length === 0) return empty
      const [before = "", after = ""] = around?.(items, next === null && Option.isNone(cursor)) ?? []
      return [before, table(heads, items.map(cells)), after].filter((part) => part !== "").join("\n\n")
    })
    if (next !== null) yield* talk(`There is more: --cursor ${next}`)
  })

export interface Events extends Paging, Between {
  readonly eventType: Option.Option<string>
  readonly idempotencyKey: Option.Option<string>
  readonly payloadPath: Option.Option<string>
  readonly payloadValue: Option.Option<string>
}

export const events = (options: Events) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { eventType, idempotencyKey, json, payloadPath, payloadValue } = options
    const filter = {
      ...given({ eventType, idempotencyKey, payloadPath, payloadValue }),
      ...(yield* timesOf(options)),
      payload: json ? ("include" as const) : ("omit" as const)
    }
    yield* showList(
      options,
      (page) =>
        ask(({ events }) =>
          events.listEvents({ path: { slug }, urlParams: { ...filter, ...page }, withResponse: true })
        ),
      {
        heads: ["ID", "EVENT TYPE", "DELIVERIES", "MISSED", "BY", "CREATED"],
        cells: (one) => [
          one.id,
          one.eventType,
          one.deliveries,
          one.missed,
          `${one.actor.id} (${one.actor.via})`,
          one.createdAt
        ],
        empty: "No event matches."
      }
    )
  })

export interface Audit extends Paging, Between {
  readonly action: Option.Option<string>
  readonly actor: Option.Option<string>
  readonly target: Option.Option<string>
}

export const audit = (options: Audit) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { action, actor, target } = options
    const filter = { ...given({ action, actor, target }), ...(yield* timesOf(options)) }
    yield* showList(
      options,
      (page) =>
        ask(({ auditEvents }) =>
          auditEvents.listAuditEvents({
            path: { slug },
            // What is no action is refused by the contract, before anything is sent.
            urlParams: { ...filter, ...page } as never,
            withResponse: true
          })
        ),
      {
        heads: ["AT", "ACTION", "BY", "ON", "CHANGED"],
        cells: (one) => [
          one.createdAt,
          one.action,
          `${one.actor.name ?? one.actor.id} (${one.actor.via})`,
          one.target.id,
          one.changes?.fields.join(",") ?? null
        ],
        empty: "No change matches."
      }
    )
  })

export const tokens = (options: Paging) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    yield* showList(
      options,
      (page) =>
        ask(({ apiTokens }) =>
          apiTokens.listApiTokens({ path: { slug }, urlParams: page, withResponse: true })
        ),
      {
        heads: ["ID", "NAME", "SCOPES", "LAST USED", "EXPIRES", "REVOKED"],
        cells: (one) => [
          one.id,
          one.name,
          one.scopes.join(","),
          one.lastUsedAt,
          one.expiresAt,
          one.revokedAt
        ],
        empty: "There is no token."
      }
    )
  })

export const members = (options: Paging) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    yield* showList(
      options,
      (page) =>
        ask(({ members }) => members.listMembers({ path: { slug }, urlParams: page, withResponse: true })),
      {
        heads: ["ID", "ROLE", "NAME", "EMAIL"],
        cells: (one) => [one.id, one.role, one.name, one.email],
        empty: "There is no member."
      }
    )
  })

export const notifications = (options: Paging) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    yield* showList(
      options,
      (page) =>
        ask(({ notifications }) =>
          notifications.listNotifications({ path: { slug }, urlParams: page, withResponse: true })
        ),
      {
        heads: ["AT", "READ", "WHAT"],
        cells: (one) => [one.createdAt, one.readAt === null ? "no" : "yes", one.message],
        empty: "There is no notification."
      }
    )
  })

/** Of the operator's token. */
export const workspaces = (options: Paging) =>
  Effect.gen(function* () {
    const { ask } = yield* Posthorn
    yield* showList(
      options,
      (page) => ask(({ workspaces }) => workspaces.listWorkspaces({ urlParams: page, withResponse: true })),
      {
        heads: ["SLUG", "NAME", "ID", "CREATED"],
        cells: (one) => [one.slug, one.name, one.id, one.createdAt],
        empty: "There is no workspace yet: posthorn workspace ensure acme"
      }
    )
  })
