/** A whole installation on this machine: PostgreSQL, and workers and servers, each with a line of its own to it. */
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { type DatabaseLine, makeLine, through } from "../processes/DatabaseLine.ts"
import { keepHistory } from "./Keeping.ts"
import { type Role, rolesOf, type Size } from "./Plan.ts"
import { type Processes, runProcesses } from "./Processes.ts"

export type Query = <A extends pg.QueryResultRow>(text: string) => Promise<ReadonlyArray<A>>

export interface Installation extends Processes {
  /** Straight to the database. */
  readonly databaseUrl: string
  readonly query: Query
  readonly cluster: OwnCluster.OwnCluster
  readonly lines: ReadonlyMap<Role, DatabaseLine>
}

/** One statement on a connection of its own: nothing to break when PostgreSQL is restarted in between. */
export const queryOn =
  (urlOf: () => string): Query =>
  async <A extends pg.QueryResultRow>(text: string): Promise<ReadonlyArray<A>> => {
    const client = new pg.Client({ connectionString: urlOf() })
    client.on("error", () => undefined)
    await client.connect()
    try {
      return (await client.query<A>(text)).rows
    } finally {
      await client.end()
    }
  }

/** Everything runs, and the workspace is there. */
export const install = (size: Size) =>
  Effect.gen(function* () {
    const cluster = yield* OwnCluster.make
    const databaseUrl = Redacted.value(cluster.url)
    yield* Effect.promise(() => keepHistory(databaseUrl))
    // For the moments of commits.
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
      lines
    } satisfies Installation
  })
