-- concurrently
-- Without the owner, which is seldom another one.
DROP INDEX CONCURRENTLY IF EXISTS legate.open_tasks_of_context;
CREATE INDEX CONCURRENTLY open_tasks_of_context ON legate.open_tasks (context_id);
DROP INDEX CONCURRENTLY IF EXISTS legate.open_tasks_by_context;
