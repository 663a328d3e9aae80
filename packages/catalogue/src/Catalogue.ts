/**
 * The event types whose payloads are judged, as this process knows them. A schema is compiled when its type is first published, and
 * kept while there is room. `keepRenewed` asks twice a second what has changed. Source: spec §6.2.
 */
import type { Issue } from "@posthorn/domain/Errors"
import { EventTypesRepo, type JudgedType } from "@posthorn/persistence/repositories/EventTypesRepo"
import { Effect, Exit, Schedule } from "effect"
import { LRUCache } from "lru-cache"
import { type Budget, compileSchema, type Judge } from "./Schemas.ts"

const RENEWED = "500 millis"

/** Most characters of compiled schemas: each takes some 0.5 KB of memory at worst. */
const MOST_COMPILED = 1_048_576

interface Compiling {
  readonly judge: Effect.Effect<Judge | null>
  /** Once it is compiled; null: it cannot be. */
  ready: Judge | null | undefined
}

export class Catalogue extends Effect.Service<Catalogue>()("@posthorn/catalogue/Catalogue", {
  dependencies: [EventTypesRepo.Default],
  effect: Effect.gen(function* () {
    const types = yield* EventTypesRepo
    const compiled = new LRUCache<string, Compiling>({ maxSize: MOST_COMPILED })
    let version = -1
    let judged: ReadonlyMap<string, JudgedType> = new Map()

    /** Reads what has changed. */
    const renew = Effect.gen(function* () {
      const now = yield* types.version
      if (now === version) return
      const found = yield* types.judged
      judged = new Map(found.map((type) => [type.eventType, type]))
      version = now
    })

    const compile = ({ eventType }: JudgedType, schema: string) =>
      compileSchema(schema).pipe(
        Effect.catchAll((error) =>
          Effect.as(
            Effect.logWarning(`The schema of ${eventType} cannot be judged by this version`, error),
            null
          )
        )
      )

    const compilingOf = (type: JudgedType) =>
      Effect.gen(function* () {
        const key = `${type.version} ${type.eventType}`
        const known = compiled.get(key)
        if (known !== undefined) return known
        const made: Compiling = {
          ready: undefined,
          // Uninterruptible, because others wait for it too.
          judge: yield* types.schemaOf(type.eventType).pipe(
            Effect.flatMap((schema) => (schema === null ? Effect.succeed(null) : compile(type, schema))),
            Effect.tap((judge) => Effect.sync(() => (made.ready = judge))),
            Effect.onExit((exit) =>
              Exit.isSuccess(exit) ? Effect.void : Effect.sync(() => compiled.delete(key))
            ),
            Effect.uninterruptible,
            Effect.cached
          )
        }
        compiled.set(key, made, { size: type.size })
        return made
      })

    /** How payloads of the type are judged; undefined if they are not. */
    const ruleOf = (eventType: string): JudgedType | undefined => judged.get(eventType)

    const isLoaded = () => version >= 0

    /** The compiled schema if it is there at once. */
    const readyJudge = (type: JudgedType): Judge | null | undefined =>
      compiled.get(`${type.version} ${type.eventType}`)?.ready

    const judgeOf = (type: JudgedType): Effect.Effect<Judge | null> =>
      Effect.flatMap(compilingOf(type), ({ judge }) => judge)

    /** Until the scope closes. */
    const keepRenewed = renew.pipe(
      Effect.catchAllCause((cause) => Effect.logDebug("The catalogue could not be read", cause)),
      Effect.withTracerEnabled(false),
      Effect.repeat(Schedule.spaced(RENEWED)),
      Effect.forkScoped
    )

    const all = () => [...judged.values()]

    return { all, isLoaded, judgeOf, keepRenewed, readyJudge, renew, ruleOf } as const
  })
}) {}

/** What does not fit of a payload's text. */
export const issuesOf = (judge: Judge, payload: string, budget: Budget): ReadonlyArray<Issue> =>
  judge.issuesOf(JSON.parse(payload), budget)
