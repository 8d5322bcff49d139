-- The state is no longer part of it: each change of state rewrote this index too, and the tasks of one
-- context are few.
DROP INDEX tasks_by_context;
CREATE INDEX tasks_by_context ON tasks (context_id);

-- Ids of turns are never used twice, so the runner of an old turn cannot pass for that of a new one.
-- They are taken in blocks: all up to this one may be in use.
CREATE TABLE turn_ids (taken INTEGER NOT NULL) STRICT;
INSERT INTO turn_ids
  SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'turns'), 0);

-- The same table, whose ids the database no longer counts by itself.
ALTER TABLE turns RENAME TO turns_before;
CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  key TEXT NOT NULL,
  task_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  replica TEXT,
  request TEXT NOT NULL
) STRICT;
INSERT INTO turns SELECT id, agent, key, task_id, attempt, replica, request FROM turns_before;
DROP TABLE turns_before;
