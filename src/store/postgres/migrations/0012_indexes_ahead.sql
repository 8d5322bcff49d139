-- concurrently
-- Indexes of the next step, built while replicas of the version before go on. Each statement ends its own
-- transaction; one that was interrupted leaves an index that is invalid, so that it is dropped first.

-- The order of a list, state by state: a list over several states merges them. Tasks of the same
-- millisecond are sorted by id when they are read.
DROP INDEX CONCURRENTLY IF EXISTS legate.ended_tasks_by_state;
CREATE INDEX CONCURRENTLY ended_tasks_by_state ON legate.tasks (owner, state, status_time);

-- For the sweep and for lists over all owners, which say `state >= 0`. Every row has it; lists of one
-- owner do not say it, so that the planner does not search the tasks of all owners for theirs.
DROP INDEX CONCURRENTLY IF EXISTS legate.ended_tasks_by_time;
CREATE INDEX CONCURRENTLY ended_tasks_by_time ON legate.tasks (status_time) WHERE state >= 0;

-- Without the id: while a snapshot was open, the planner took `turns` for small and searched all entries of
-- an index that has it, with all turns that had ended since.
DROP INDEX CONCURRENTLY IF EXISTS legate.turns_of_key;
CREATE INDEX CONCURRENTLY turns_of_key ON legate.turns (key);
