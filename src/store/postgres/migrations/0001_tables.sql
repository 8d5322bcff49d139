-- Times are milliseconds since 1970. A state is its number in the protocol; 3, 4, 5 and 7 are the
-- terminal ones. Text is compared by code points (collation "C"), as every driver of the store does.

-- Logs and snapshots go by the number of their task, which is shorter than its id.
CREATE TABLE legate.tasks (
  id text COLLATE "C" PRIMARY KEY,
  number bigint GENERATED ALWAYS AS IDENTITY,
  agent text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  state smallint NOT NULL,
  status_time bigint NOT NULL,
  version integer NOT NULL,
  cancel_requested boolean NOT NULL DEFAULT false,
  push_configs integer NOT NULL DEFAULT 0
) WITH (fillfactor = 90);

-- The order of a list, state by state: a list over all states merges them.
CREATE INDEX tasks_by_state ON legate.tasks (owner, state, status_time, id);
CREATE INDEX tasks_by_context ON legate.tasks (context_id, status_time);
CREATE INDEX tasks_open ON legate.tasks (agent, owner, context_id)
  WHERE state NOT IN (3, 4, 5, 7);
CREATE INDEX tasks_over ON legate.tasks (status_time) WHERE state IN (3, 4, 5, 7);
CREATE INDEX tasks_to_cancel ON legate.tasks (id)
  WHERE cancel_requested AND state NOT IN (3, 4, 5, 7);

-- How many tasks have ended in each state: exact totals without counting, as the ended ones are many.
-- Every connection adds to a slot of its own, so that writers do not wait for each other; a total is
-- the sum over the slots.
CREATE TABLE legate.task_counts (
  owner text COLLATE "C" NOT NULL,
  state smallint NOT NULL,
  slot smallint NOT NULL,
  tasks bigint NOT NULL,
  PRIMARY KEY (owner, state, slot)
) WITH (fillfactor = 50);

CREATE TABLE legate.events (
  task bigint NOT NULL,
  sequence integer NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (task, sequence)
);

-- A task that has none is shown by its first event.
CREATE TABLE legate.snapshots (
  task bigint PRIMARY KEY,
  version integer NOT NULL,
  body text NOT NULL
);

-- Open turns only: an ended one is deleted, and what is remembered of it stands in `messages`. Ids are
-- given out under the lock of the key, so that their order is that of admission.
CREATE TABLE legate.turns (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  agent text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  attempt integer NOT NULL,
  replica text COLLATE "C",
  request text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

CREATE INDEX turns_by_key ON legate.turns (key, id);
CREATE INDEX turns_by_task ON legate.turns (task_id);

-- Messages by the turn they began, so that their repetition is recognised.
CREATE TABLE legate.messages (
  turn bigint PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  digest text NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  reply text,
  UNIQUE (owner, key)
);

CREATE INDEX messages_by_expiry ON legate.messages (expires_at);

CREATE TABLE legate.replicas (
  id text COLLATE "C" PRIMARY KEY,
  expires_at bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE legate.contexts (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  value text,
  log_length integer NOT NULL,
  UNIQUE (owner, context_id)
) WITH (fillfactor = 80);

CREATE TABLE legate.context_log (
  context bigint NOT NULL,
  sequence integer NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (context, sequence)
);

CREATE TABLE legate.push_configs (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  body text NOT NULL,
  wire_version text NOT NULL,
  UNIQUE (task_id, id)
);

-- `is_head` marks the oldest pending delivery of its configuration, the only one that can be claimed;
-- a claim moves `due_at` to the end of its lease. Whoever changes which one is the head holds the row
-- of the configuration.
CREATE TABLE legate.deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  config bigint NOT NULL,
  sequence integer NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  is_dead boolean NOT NULL DEFAULT false,
  is_head boolean NOT NULL,
  due_at bigint NOT NULL,
  claimed_by text COLLATE "C",
  last_error text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

CREATE INDEX deliveries_by_config ON legate.deliveries (config, is_dead, id);
CREATE INDEX deliveries_due ON legate.deliveries (due_at, id) WHERE is_head;
CREATE INDEX deliveries_claimed ON legate.deliveries (claimed_by) WHERE claimed_by IS NOT NULL;

-- Keys are escaped by the driver: PostgreSQL keeps no NUL.
CREATE TABLE legate.records (
  space text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  version bigint NOT NULL,
  expires_at bigint,
  updated_at bigint NOT NULL,
  PRIMARY KEY (space, key)
) WITH (fillfactor = 80);

CREATE INDEX records_by_expiry ON legate.records (expires_at) WHERE expires_at IS NOT NULL;
