/** Ways to publish that scenarios share, and to observe which workers are notified. */
import type { Stage } from "./Stage.ts"

/** The payloads of the notifications that arrive meanwhile. */
export const notifications = async (stage: Stage, act: () => Promise<unknown>) => {
  const payloads: Array<string> = []
  const listener = await stage.other()
  listener.client.on("notification", ({ payload = "" }) => {
    payloads.push(payload)
  })
  await listener.rows("listen posthorn_due")
  await act()
  // Notifications sent before arrive with the answer to the next statement.
  await listener.rows("select 1")
  return payloads
}

/** The shards of each notification that arrives meanwhile. */
export const told = async (stage: Stage, act: () => Promise<unknown>): Promise<ReadonlyArray<string>> =>
  (await notifications(stage, act)).map((payload) => payload.split(" ")[1]!)

/** The number of notifications meanwhile. */
export const heard = async (stage: Stage, act: () => Promise<unknown>): Promise<number> =>
  (await told(stage, act)).length

export const batch = (
  stage: Stage,
  slug: string,
  events: ReadonlyArray<readonly [type: string, payload: string, key: string | null]>,
  most: number | null = null
) =>
  stage.rows(
    "select * from posthorn.publish_events($1, $2, $3::text[]::json[], $4, null, $5)",
    slug,
    events.map(([type]) => type),
    events.map(([, payload]) => payload),
    events.map(([, , key]) => key),
    most
  )

/** Ids of the workspaces with the slugs of the first parameter; null for slugs that do not exist. */
export const IDS = `(select array_agg(w.id order by n)
  from unnest($1::text[]) with ordinality as s(slug, n) left join posthorn.workspaces w using (slug))`

/** For independent events: code and hint of each, null where it was published. */
export const each = async (
  stage: Stage,
  events: ReadonlyArray<readonly [slug: string, type: string, payload: string, key: string | null]>,
  most: number | null = null
) =>
  (
    await stage.rows(
      `select * from posthorn.try_publish_each(${IDS}, $2, $3::text[]::json[], $4, $5, $6, array_fill('system sql x'::text, array[cardinality($2::text[])])) order by index`,
      events.map(([slug]) => slug),
      events.map(([, type]) => type),
      events.map(([, , payload]) => payload),
      events.map(([, , , key]) => key),
      events.map(() => null),
      most
    )
  ).map(({ code, delivery_ids, duplicate, hint, id }) => ({
    id,
    made: (delivery_ids as Array<string>).length,
    what: code === null ? (duplicate === true ? "duplicate" : "published") : `${code} ${hint ?? ""}`.trim()
  }))
