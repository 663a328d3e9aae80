/**
 * A database for the scenarios of guards: a few rows of everything, and a second connection to hold locks with. Plain
 * promises and plain SQL, because `npm run attack -- mutate-sql` runs each scenario hundreds of times, without a test runner.
 */
import assert from "node:assert/strict"
import { FAILURE_LIMIT } from "@posthorn/domain/DeliveryPolicy"
import { newId } from "@posthorn/domain/Ids"
import type { Disables } from "@posthorn/domain/Verdict"
import { EMPTY } from "@posthorn/testkit/Seeds"
import pg from "pg"
import { type Observed, RECORD_EACH, recording } from "../../src/engine/Records.ts"
import { type Exports, Repositories } from "./Repositories.ts"

/** A scenario: what fails without a guard of `of`. */
export interface Scenario {
  readonly title: string
  /** The functions, triggers and statements of `src` that it tests, by the names that mutants use. */
  readonly of: ReadonlyArray<string>
  readonly play: (stage: Stage) => Promise<void>
}

type Play = Scenario["play"]

/**
 * Scenarios look like tests: `it("due, notify_if_asleep: what is returned", async (stage) => …)`. The names before the colon are those
 * of the guards' functions, as mutants use them.
 */
export const writeScenarios = (
  write: (it: (text: string, play: Play) => void) => void
): ReadonlyArray<Scenario> => {
  const scenarios: Array<Scenario> = []
  write((text, play) => {
    const colon = text.indexOf(": ")
    scenarios.push({ title: text.slice(colon + 2), of: text.slice(0, colon).split(", "), play })
  })
  return scenarios
}

/** Values as the driver returns them: int8 is text. */
export type Row = Readonly<Record<string, unknown>>

export interface About {
  readonly status?: Observed["status"]
  readonly ordinal?: number
  readonly generation?: number
  readonly exhausted?: boolean
  readonly disables?: Disables
  readonly policyVersion?: string
  readonly failureReason?: NonNullable<Observed["failureReason"]>
  readonly signature?: string
  readonly requestHeaders?: string
  readonly rateLimited?: boolean
}

export interface Delivery {
  readonly workspace: string
  readonly endpoint: string
  readonly id: string
}

export const TRACE = "0af7651916cd43dd8448eb211c80319c"
/**
 * The longest time for something that does not wait, here and as `statement_timeout` and `lock_timeout` in scenarios. It is
 * longer than a busy machine stalls, and shorter than the time limit in `mutation/Scene.ts` for a scenario that a mutant
 * blocks.
 */
const WAIT_MS = 8_000
const RETRY_MS = 3_600_000

export class Session {
  readonly client: pg.Client

  constructor(url: string) {
    this.client = new pg.Client({ connectionString: url })
    this.client.on("error", () => undefined)
  }

  get pid(): number {
    return (this.client as unknown as { readonly processID: number }).processID
  }

  async rows(text: string, ...values: ReadonlyArray<unknown>): Promise<ReadonlyArray<Row>> {
    return (await this.client.query(text, [...values])).rows
  }

  async row(text: string, ...values: ReadonlyArray<unknown>): Promise<Row> {
    return (await this.rows(text, ...values))[0]!
  }

  /** The only column of the only row. */
  async value(text: string, ...values: ReadonlyArray<unknown>): Promise<unknown> {
    return Object.values(await this.row(text, ...values))[0]
  }

  /** The SQLSTATE with which it is refused, or null. */
  async code(text: string, ...values: ReadonlyArray<unknown>): Promise<string | null> {
    return this.client.query(text, [...values]).then(
      () => null,
      ({ code }: { readonly code: string }) => code
    )
  }
}

export class Stage extends Session {
  private readonly others: Array<Session> = []
  private readonly url: string
  readonly repos: Repositories

  /** `changed` replaces a file of `src`. */
  constructor(url: string, changed: Exports = {}) {
    super(url)
    this.url = url
    this.repos = new Repositories(url, changed)
  }

  /** A second connection; to another database of the server, or as another role, if given. */
  async other({ database, role }: { database?: string; role?: string } = {}): Promise<Session> {
    const url = new URL(this.url)
    if (database !== undefined) url.pathname = `/${database}`
    if (role !== undefined) [url.username, url.password] = [role, role]
    const other = new Session(url.href)
    await other.client.connect()
    this.others.push(other)
    return other
  }

  /** Empties the database. */
  async clear(): Promise<void> {
    for (const { client } of this.others.splice(0)) await client.end()
    await this.repos.close()
    await this.client.query("rollback")
    await this.client.query("reset all")
    await this.client.query(EMPTY)
    await this.client.query(`truncate posthorn.daily_runs, posthorn.hourly_rollups, posthorn.stale_hours, posthorn.ended_hours cascade;
      update posthorn.shards set owner = null, in_doubt_until = null, in_doubt_snapshot = null,
        began = false, stopped_at = null;
      update posthorn.installation set waiting = null, bytes = null, system_workspace = null`)
  }

  /** Ends everything that still runs. */
  async leave(): Promise<void> {
    const pids = [this, ...this.others].map(({ pid }) => pid)
    const killer = new Session(this.url)
    await killer.client.connect()
    await killer.rows("select pg_terminate_backend(pid) from unnest($1::integer[]) as pid", pids)
    await killer.client.end()
    await this.repos.close()
  }

  async workspace(slug = "acme"): Promise<string> {
    const id = newId("workspace")
    await this.rows("insert into posthorn.workspaces (id, slug, name) values ($1, $2, $2)", id, slug)
    return id
  }

  async endpoint(
    workspace: string,
    {
      enabled = true,
      failures = 0,
      types = ["*"]
    }: { enabled?: boolean; failures?: number; types?: ReadonlyArray<string> } = {}
  ): Promise<string> {
    const id = newId("endpoint")
    await this.rows(
      `insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, disabled_reason, secret,
        consecutive_failures) values ($1, $2, 'https://example.com', $3, $4, $5, 'secret', $6)`,
      workspace,
      id,
      types,
      enabled,
      enabled ? null : "manual",
      failures
    )
    return id
  }

  publish(slug: string, type = "a.b", key: string | null = null, payload = "1"): Promise<Row> {
    return this.row("select * from posthorn.publish($1, $2, $3::json, $4)", slug, type, payload, key)
  }

  /** Publishes to every matching endpoint of the workspace, one event for each. */
  async deliveries(
    workspace: string,
    slug: string,
    count = 1,
    type = "a.b"
  ): Promise<ReadonlyArray<Delivery>> {
    for (let n = 0; n < count; n++) await this.publish(slug, type)
    const found = await this.rows(
      "select id, endpoint_id from posthorn.deliveries where workspace_id = $1 order by event_id, endpoint_id, id",
      workspace
    )
    return found.map(({ endpoint_id, id }) => ({
      workspace,
      endpoint: endpoint_id as string,
      id: id as string
    }))
  }

  observation({ endpoint, id, workspace }: Delivery, about: About = {}): Observed {
    const { exhausted = false, generation = 0, ordinal = 1, policyVersion = "0", status = "failed" } = about
    const { disables = { kind: "failures", count: FAILURE_LIMIT }, failureReason = "http_status" } = about
    const { rateLimited = false } = about
    return {
      workspaceId: workspace,
      deliveryId: id,
      endpointId: endpoint,
      generation,
      ordinal,
      attemptId: newId("attempt"),
      status,
      at: Date.now(),
      durationMs: 1,
      httpStatus: status === "delivered" ? 200 : 500,
      failureReason: status === "delivered" ? null : failureReason,
      failureDetail: null,
      signature: about.signature ?? null,
      requestHeaders: about.requestHeaders ?? null,
      responseBody: null,
      url: "https://example.com",
      responseHeaders: null,
      rateLimited,
      waitMs: status === "failed" && !exhausted ? RETRY_MS : null,
      exhausted,
      disables: status === "delivered" ? null : disables,
      policyVersion
    }
  }

  /** Records as a worker does, in the order of arrival. */
  record(observed: ReadonlyArray<Observed>, by: Session = this): Promise<Row> {
    const { text, values } = recording(observed, "{}")
    return by.row(text, ...values)
  }

  /** The same, each by itself. */
  recordEach(observed: ReadonlyArray<Observed>): Promise<Row> {
    const { text, values } = recording(observed, "{}", RECORD_EACH.text)
    return this.row(text, ...values)
  }

  /** The SQLSTATE with which recording is refused, or null. */
  recordCode(observed: ReadonlyArray<Observed>): Promise<string | null> {
    const { text, values } = recording(observed, "{}")
    return this.code(text, ...values)
  }

  /** Waits until the condition holds. */
  async until(what: string, isSo: () => Promise<boolean>, waitMs = WAIT_MS): Promise<void> {
    const end = Date.now() + waitMs
    while (Date.now() < end) if (await isSo()) return
    assert.fail(`in vain waited until ${what}`)
  }

  /** Waits until the main connection, or another, waits for a lock. */
  waits(seenBy: Session, who: Session = this): Promise<void> {
    const type = "select wait_event_type from pg_stat_activity where pid = $1"
    return this.until("a lock is waited for", async () => (await seenBy.value(type, who.pid)) === "Lock")
  }

  audit(workspace: string): Promise<Row> {
    return this.row(
      `insert into posthorn.audit_events (workspace_id, action, actor_type, actor_id, via, target_type, target_id, trace_id)
       values ($1, 'webhook.endpoint_created', 'operator', 'operator', 'sql', 'webhook_endpoint', 'x', $2) returning id`,
      workspace,
      TRACE
    )
  }
}
