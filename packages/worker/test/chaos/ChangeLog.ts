/**
 * A history that the database itself keeps of a run. Triggers write down each change of a delivery, an endpoint, a replay
 * job or a missed event, and each call of `posthorn.record`, in the same transaction. So the history contains exactly what
 * was committed. The moment of each commit comes from PostgreSQL (`track_commit_timestamp`).
 */
import pg from "pg"

const TABLES = `
  create schema chaos;
  create table chaos.log (
    n bigint generated always as identity,
    xid xid not null default pg_current_xact_id()::xid,
    at timestamptz not null default clock_timestamp(),
    kind text not null,
    old jsonb,
    new jsonb
  );
  create function chaos.keep() returns trigger language plpgsql security definer as $$
  begin
    insert into chaos.log (kind, old, new) values (tg_argv[0],
      case when tg_op <> 'INSERT' then to_jsonb(old) end,
      case when tg_op <> 'DELETE' then to_jsonb(new) end);
    return null;
  end $$;
  create trigger chaos after insert on posthorn.deliveries
    for each row execute function chaos.keep('published');
  create trigger chaos_dead_lettered after update of status on posthorn.deliveries
    for each row when (new.status = 'dead_lettered' and old.status <> 'dead_lettered') execute function chaos.keep('dead_lettered');
  create trigger chaos after insert on posthorn.attempts
    for each row execute function chaos.keep('attempt');
  create trigger chaos after insert or update or delete on posthorn.endpoints
    for each row execute function chaos.keep('endpoint');
  create trigger chaos after insert on posthorn.events
    for each row execute function chaos.keep('event');
  create trigger chaos_removed after delete on posthorn.deliveries
    for each row execute function chaos.keep('removed');
  create trigger chaos after insert or update on posthorn.replays
    for each row execute function chaos.keep('replay');
  create trigger chaos after insert or delete on posthorn.missed_events
    for each row execute function chaos.keep('missed');
  create trigger chaos after insert on posthorn.audit_events
    for each row when (new.action like 'webhook.%repla%') execute function chaos.keep('audit')`

/** Wraps `posthorn.record`, whatever its arguments, and writes down what the attempts do not show. */
const RECORD = `
  do $do$
  declare
    real constant oid := (select oid from pg_proc where proname = 'record' and pronamespace = 'posthorn'::regnamespace);
    arguments constant text := pg_get_function_arguments(real);
    result constant text := pg_get_function_result(real);
    names constant text := (select string_agg(name, ', ' order by n) from pg_proc, unnest(proargnames, proargmodes)
      with ordinality as a(name, mode, n) where pg_proc.oid = real and mode = 'i');
  begin
    alter function posthorn.record rename to record_itself;
    execute format($f$
      create function posthorn.record(%s) returns %s language plpgsql as $w$
      #variable_conflict use_variable
      begin
        insert into chaos.log (kind, new) values ('record', jsonb_build_object('attempt_ids', attempt_ids,
          'endpoints', endpoints, 'generations', generations, 'arrivals', arrivals, 'retry_afters', waits));
        return query select * from posthorn.record_itself(%s);
      end $w$ $f$, arguments, result, names);
  end $do$`

/** Installs it in a migrated and empty database. */
export const logChanges = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(TABLES)
    await client.query(RECORD)
    await client.query("alter system set track_commit_timestamp = on")
  } finally {
    await client.end()
  }
}
