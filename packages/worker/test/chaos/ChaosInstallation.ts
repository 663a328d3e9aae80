/** A whole installation on this machine: PostgreSQL, and workers and servers, each with its own proxy to the database. */
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { type DatabaseLine, makeLine, through } from "../processes/DatabaseLine.ts"
import type { Role } from "./Actions.ts"
import { logChanges } from "./ChangeLog.ts"
import { rolesOf, type Size } from "./Plan.ts"
import { type Processes, runProcesses } from "./Processes.ts"
import { makeSmallDisk, type SmallDisk } from "./SmallDisk.ts"

export type Query = <A extends pg.QueryResultRow>(text: string) => Promise<ReadonlyArray<A>>

export interface Installation extends Processes {
  /** Directly to the database. */
  readonly databaseUrl: string
  readonly query: Query
  readonly cluster: OwnCluster.OwnCluster
  readonly lines: ReadonlyMap<Role, DatabaseLine>
  /** The file system of the database; null where it cannot be filled. */
  readonly disk: SmallDisk | null
}

/** Each statement has a connection of its own, so a restart of PostgreSQL in between breaks nothing. */
export const queryOn =
  (urlOf: () => string): Query =>
  async <A extends pg.QueryResultRow>(text: string): Promise<ReadonlyArray<A>> => {
    // Even while others may not write.
    const client = new pg.Client({
      connectionString: urlOf(),
      options: "-c default_transaction_read_only=off -c default_transaction_isolation=read\\ committed"
    })
    client.on("error", () => undefined)
    await client.connect()
    try {
      return (await client.query<A>(text)).rows
    } finally {
      await client.end()
    }
  }

/** Starts everything and creates the workspace. */
export const install = (size: Size) =>
  Effect.gen(function* () {
    const folder = yield* OwnCluster.folder
    const disk = yield* Effect.acquireRelease(
      Effect.sync(() => makeSmallDisk(folder)),
      (made) => Effect.sync(() => made?.remove())
    )
    const cluster = yield* OwnCluster.makeIn(folder)
    const databaseUrl = Redacted.value(cluster.url)
    yield* Effect.promise(() => logChanges(databaseUrl))
    // Records the moments of commits.
    yield* cluster.stop
    yield* cluster.start
    const roles = rolesOf(size)
    const lines = new Map<Role, DatabaseLine>()
    for (const role of [...roles.workers, ...roles.servers])
      lines.set(role, yield* makeLine(new URL(databaseUrl)))
    const running = yield* runProcesses(roles, (role) => through(lines.get(role)!, databaseUrl))
    return {
      ...running,
      databaseUrl,
      query: queryOn(() => databaseUrl),
      cluster,
      disk,
      lines
    } satisfies Installation
  })
