-- What was changed on one endpoint, newest first, however much else the workspace's audit log holds: a bulk replay alone
-- writes one event for each delivery.
create index audit_events_target on posthorn.audit_events (workspace_id, target_id, created_at desc, id desc);
