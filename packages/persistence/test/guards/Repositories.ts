/**
 * The repositories of `src` for the scenarios of guards, on a pool of their own that is opened at its first use. `npm run
 * mutate:sql` replaces one by a mutated version.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, type Layer, ManagedRuntime, Redacted } from "effect"
import * as Database from "../../src/client/Database.ts"
import { DedicatedConnections, layer as dedicatedConnections } from "../../src/client/DedicatedConnection.ts"
import * as ShardLocks from "../../src/engine/ShardLocks.ts"

/** The exports of a file of `src`. */
export type Exports = Readonly<Record<string, unknown>>

type Repository<Id, R> = Context.Tag<Id, R> & { readonly Default: Layer.Layer<Id, never, SqlClient> }

const APPLICATION = "posthorn-guards"

const open = (url: string) =>
  ManagedRuntime.make(
    Database.layer({ url: Redacted.make(url), applicationName: APPLICATION, maxConnections: 4 })
  )

export class Repositories {
  private readonly url: string
  private readonly changed: Exports
  private opened: ReturnType<typeof open> | undefined

  constructor(url: string, changed: Exports) {
    this.url = url
    this.changed = changed
  }

  private get runtime() {
    this.opened ??= open(this.url)
    return this.opened
  }

  run<A, E>(effect: Effect.Effect<A, E, SqlClient>): Promise<A> {
    return this.runtime.runPromise(effect)
  }

  /** Prefers the mutated service of the same name, if there is one. */
  get<Id, R>(repository: Repository<Id, R>): Promise<R> {
    const changed = Object.values(this.changed).find(
      (exported) => (exported as Partial<typeof repository>)?.key === repository.key
    )
    const { Default } = (changed as typeof repository | undefined) ?? repository
    return this.run(Effect.provide(repository, Default))
  }

  /** Runs `meanwhile` while a transaction that made this call is open. */
  within<A, E>(call: Effect.Effect<A, E, SqlClient>, meanwhile: () => Promise<void>): Promise<void> {
    return this.run(
      Effect.flatMap(SqlClient, (sql) =>
        sql.withTransaction(Effect.zipRight(call, Effect.promise(meanwhile)))
      )
    )
  }

  /** The shard locks of a worker, on a connection that stays open meanwhile. */
  worker(owner: string, meanwhile: (locks: ShardLocks.ShardLocks) => Promise<void>): Promise<void> {
    const make = (this.changed.make as typeof ShardLocks.make | undefined) ?? ShardLocks.make
    return this.runtime.runPromise(
      Effect.flatMap(DedicatedConnections, (connections) => connections.open(owner)).pipe(
        Effect.flatMap((connection) => make(connection, owner)),
        Effect.flatMap((locks) => Effect.promise(() => meanwhile(locks))),
        Effect.scoped,
        Effect.provide(dedicatedConnections)
      )
    )
  }

  async close(): Promise<void> {
    const opened = this.opened
    this.opened = undefined
    await opened?.dispose()
  }
}
