-- Lists are read state by state, and merged: a page of a rare state, and the open tasks of a long
-- conversation, read their own rows only. Tasks of the same millisecond are sorted by id when they are
-- read.
DROP INDEX tasks_by_time;
CREATE INDEX tasks_by_state ON tasks (owner, state, status_time);
DROP INDEX tasks_by_context;
CREATE INDEX tasks_by_context ON tasks (context_id, state, status_time);

-- From this version on, a row of `events` has the events of one append, one to a line, and its key the
-- number of the last of them. \x01 stands for the id of the task and \x02 for that of its context, with
-- their quotes; snapshots have them too. Logs of up to eight events have no snapshot.
