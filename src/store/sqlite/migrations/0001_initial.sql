-- Times are milliseconds since 1970. A state is its number in the protocol; 3, 4, 5 and 7 are the
-- terminal ones. The key of a log entry is the number of its task (or context) times 2^22, plus the
-- number of the entry: one tree, in order, and new entries of all tasks meet at its end.

CREATE TABLE tasks (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  owner TEXT NOT NULL,
  context_id TEXT NOT NULL,
  state INTEGER NOT NULL,
  status_time INTEGER NOT NULL,
  version INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL,
  push_configs INTEGER NOT NULL
) STRICT;

-- The order of a list. The state stands in it so that a filter reads nothing else.
CREATE INDEX tasks_by_time ON tasks (owner, status_time, id, state);
CREATE INDEX tasks_by_context ON tasks (context_id, state);
CREATE INDEX tasks_over ON tasks (status_time) WHERE state IN (3, 4, 5, 7);

-- Exact totals without counting: rows of `tasks` by owner and state.
CREATE TABLE task_counts (
  owner TEXT NOT NULL,
  state INTEGER NOT NULL,
  tasks INTEGER NOT NULL,
  PRIMARY KEY (owner, state)
) STRICT, WITHOUT ROWID;

-- Beside `tasks`, whose rows are rewritten with every event and so must stay small. A task that has
-- none is shown by its first event.
CREATE TABLE snapshots (
  task INTEGER PRIMARY KEY,
  version INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE events (
  key INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;

-- Open turns only: an ended one is deleted, and what is remembered of it stands in `messages`. Ids are
-- never used twice, so the runner of an old turn cannot pass for that of a new one.
CREATE TABLE turns (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent TEXT NOT NULL,
  key TEXT NOT NULL,
  task_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  replica TEXT,
  request TEXT NOT NULL
) STRICT;

-- Messages by the turn they began, so that their repetition is recognised.
CREATE TABLE messages (
  turn INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  task_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  reply TEXT,
  UNIQUE (owner, key)
) STRICT;

CREATE INDEX messages_by_expiry ON messages (expires_at);

CREATE TABLE contexts (
  number INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  context_id TEXT NOT NULL,
  value TEXT,
  log_length INTEGER NOT NULL,
  UNIQUE (owner, context_id)
) STRICT;

CREATE TABLE context_log (
  key INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE push_configs (
  number INTEGER PRIMARY KEY,
  task INTEGER NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  wire_version TEXT NOT NULL,
  UNIQUE (task, id)
) STRICT;

-- `is_head` marks the oldest pending delivery of its configuration, the only one that can be claimed;
-- a claim moves `due_at` to the end of its lease. Ids are never used twice, so a late settlement
-- cannot hit another delivery.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  config INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  is_dead INTEGER NOT NULL,
  is_head INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  claimed_by TEXT,
  last_error TEXT
) STRICT;

CREATE INDEX deliveries_by_config ON deliveries (config, is_dead, id);
CREATE INDEX deliveries_due ON deliveries (due_at, id) WHERE is_head = 1;

CREATE TABLE records (
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  expires_at INTEGER,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (space, key)
) STRICT;

CREATE INDEX records_by_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
