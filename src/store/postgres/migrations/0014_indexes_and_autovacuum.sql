-- concurrently
DROP INDEX CONCURRENTLY IF EXISTS legate.turns_by_key;

-- Autovacuum keeps up with tables whose rows come and go with every message, and lets large ones grow
-- by a twentieth before it goes over them.
ALTER TABLE legate.open_tasks SET (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE legate.turns SET (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE legate.deliveries SET (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE legate.ended_tasks SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_vacuum_cost_limit = 2000
);
ALTER TABLE legate.event_batches SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_vacuum_cost_limit = 2000
);
ALTER TABLE legate.snapshots SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_limit = 2000
);
ALTER TABLE legate.messages SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_limit = 2000
);
ALTER TABLE legate.contexts SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_limit = 2000
);
ALTER TABLE legate.context_log SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_limit = 2000
);
ALTER TABLE legate.records SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_limit = 2000
);
