/**
 * Copies the rows of one workspace to another with the same ids, to check that a statement changes only its own workspace.
 */
import assert from "node:assert/strict"
import type { Stage } from "./Stage.ts"

type Table =
  | "attempts"
  | "console_sessions"
  | "deliveries"
  | "endpoints"
  | "events"
  | "idempotent_answers"
  | "members"
  | "missed_events"
  | "notifications"
  | "queue"
  | "replays"

/** Updates of deliveries maintain the list of failures; inserting failed ones must write it too. */
const alongWith = (table: Table) => (table === "deliveries" ? [table, "failed_deliveries"] : [table])

/** A workspace with the same rows in these tables. */
export const twinOf = async (stage: Stage, workspace: string, ...tables: ReadonlyArray<Table>) => {
  const twin = await stage.workspace("twin")
  for (const table of tables.flatMap(alongWith))
    await stage.rows(
      `insert into posthorn.${table}
       select (jsonb_populate_record(t, jsonb_build_object('workspace_id', $2::text))).* from posthorn.${table} t
       where workspace_id = $1`,
      workspace,
      twin
    )
  return twin
}

/** The rows of a table, by workspace and id. */
export const held = async (stage: Stage, table: string) =>
  new Map(
    (
      await stage.rows(
        `select t.workspace_id || ' ' || t.id as key, to_jsonb(t)::text as row from posthorn.${table} t`
      )
    ).map(({ key, row }) => [key as string, row as string])
  )

const changedIn = async (stage: Stage, table: string, act: () => Promise<unknown>) => {
  const before = await held(stage, table)
  await act()
  const after = await held(stage, table)
  return [...before].filter(([key, row]) => after.get(key) !== row).map(([key]) => key)
}

/** Expects the action to change or remove this row, and no other row of the table. */
export const changesOnly = async (
  stage: Stage,
  table: string,
  workspace: string,
  id: string,
  act: () => Promise<unknown>
) => assert.deepEqual(await changedIn(stage, table, act), [`${workspace} ${id}`])

export const changesNothing = async (stage: Stage, table: string, act: () => Promise<unknown>) =>
  assert.deepEqual(await changedIn(stage, table, act), [])
