/** A browser with several console sessions: which one a call uses, which are valid, and what their use writes. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { enterConsole, OURS } from "../ConsoleSignIn.ts"
import { entered, TestServer, testServer } from "../TestServer.ts"

interface Shown {
  readonly sessions: ReadonlyArray<{ readonly workspace: { readonly slug: string } }>
}

/** Two workspaces, and a browser that is signed in to both. */
const twoSessions = Effect.gen(function* () {
  const [one, other] = [yield* entered, yield* entered]
  const [first, second] = [yield* enterConsole(one), yield* enterConsole(other)]
  return { one, other, first, second, both: `${first.cookie}; ${second.cookie}` }
})

layer(testServer(), { excludeTestServices: true })("a browser with two sessions", (it) => {
  it.effect("§11 must name the session when the path names no workspace and there are two", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const { both, first, one, other } = yield* twoSessions
      const callerAs = (cookie: string, named: string) =>
        Effect.map(
          call<{ readonly workspace?: { readonly slug: string } }>("GET", "/console/api/caller", {
            headers: { ...OURS, cookie, "x-console": named }
          }),
          ({ body, status }) => body.workspace?.slug ?? status
        )

      expect(yield* callerAs(both, one.slug)).toBe(one.slug)
      expect(yield* callerAs(both, other.slug)).toBe(other.slug)
      expect(yield* callerAs(both, "1")).toBe(401)
      expect(yield* callerAs(both, "elsewhere")).toBe(401)
      expect(yield* callerAs(first.cookie, "1")).toBe(one.slug)
      expect(yield* callerAs(first.cookie, other.slug)).toBe(one.slug)
      expect(yield* callerAs("", "1")).toBe(401)
    })
  )

  it.effect("§11 gets the valid sessions, and no others", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const sql = yield* SqlClient
      const { both, one, other } = yield* twoSessions
      const shown = Effect.map(
        call<Shown>("GET", "/console/session", { headers: { ...OURS, cookie: both } }),
        ({ body }) => body.sessions.map(({ workspace }) => workspace.slug)
      )
      const before = yield* shown

      yield* sql`update posthorn.console_sessions set expires_at = now() where workspace_id = ${one.workspaceId}`

      expect(before).toEqual([one.slug, other.slug])
      expect(yield* shown).toEqual([other.slug])
    })
  )

  it.effect("§11 has its use stored, at most once a minute", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { first, one } = yield* twoSessions
      const written = Effect.map(
        sql<{ row: string }>`select xmin || ' ' || ctid::text as row from posthorn.console_sessions
          where workspace_id = ${one.workspaceId}`,
        ([session]) => session!.row
      )
      const opened = yield* written
      yield* first.use("GET", "/webhooks")
      const used = yield* written
      yield* sql`update posthorn.console_sessions set last_seen_at = now() - interval '61 seconds'
        where workspace_id = ${one.workspaceId}`
      const aged = yield* written
      yield* first.use("GET", "/webhooks")

      expect(used).toBe(opened)
      expect(yield* written).not.toBe(aged)
    })
  )
})
