-- concurrently
-- With the owner again: without it, each list of a caller read the open tasks of all callers.
DROP INDEX CONCURRENTLY IF EXISTS legate.open_tasks_of_owner;
CREATE INDEX CONCURRENTLY open_tasks_of_owner ON legate.open_tasks (owner, context_id);
DROP INDEX CONCURRENTLY IF EXISTS legate.open_tasks_of_context;
