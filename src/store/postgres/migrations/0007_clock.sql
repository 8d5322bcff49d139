-- The time that all replicas go by, in milliseconds since 1970: no replica's own clock decides who is
-- alive and what is due. Stable, so that indexes can be searched by it.
CREATE FUNCTION legate.clock() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
$$;

-- Deletes what is over, up to `in_limit` of each kind, and says how many that were. Without a
-- retention, tasks or contexts stay. `legate.sweep` stays for replicas of the version before.
CREATE FUNCTION legate.sweep_over(
  in_retention bigint,
  in_context_retention bigint,
  in_limit integer,
  OUT tasks integer,
  OUT contexts integer,
  OUT messages integer,
  OUT records integer
) LANGUAGE plpgsql AS $$
DECLARE
  time bigint := legate.clock();
  task record;
  owners text[] := '{}';
BEGIN
  tasks := 0;
  FOR task IN
    SELECT id, owner, push_configs FROM legate.tasks
    WHERE state IN (3, 4, 5, 7) AND status_time < time - in_retention
    ORDER BY status_time FOR UPDATE SKIP LOCKED
  LOOP
    EXIT WHEN tasks = in_limit;
    CONTINUE WHEN task.push_configs > 0 AND EXISTS (
      SELECT FROM legate.push_configs AS configs
      JOIN legate.deliveries ON deliveries.config = configs.number AND NOT deliveries.is_dead
      WHERE configs.task_id = task.id
    );
    PERFORM legate.remove_task(task.id);
    tasks := tasks + 1;
    IF task.owner <> ALL (owners) THEN
      owners := owners || task.owner;
    END IF;
  END LOOP;
  PERFORM legate.forget_owner(owner) FROM unnest(owners) AS owner;

  WITH old AS (
    SELECT number FROM legate.contexts
    WHERE written_until <= time - in_context_retention AND NOT EXISTS (
      SELECT FROM legate.tasks
      WHERE tasks.context_id = contexts.context_id AND tasks.owner = contexts.owner
        AND tasks.state NOT IN (3, 4, 5, 7)
    )
    ORDER BY written_until LIMIT in_limit FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM legate.contexts USING old WHERE contexts.number = old.number
    RETURNING contexts.number
  ), entries AS (
    DELETE FROM legate.context_log USING gone WHERE context_log.context = gone.number
  )
  SELECT count(*) INTO contexts FROM gone;

  DELETE FROM legate.messages WHERE turn IN (
    SELECT turn FROM legate.messages
    WHERE expires_at <= time AND NOT EXISTS (SELECT FROM legate.turns WHERE id = turn)
    LIMIT in_limit
  );
  GET DIAGNOSTICS messages = ROW_COUNT;
  DELETE FROM legate.records WHERE (space, key) IN (
    SELECT space, key FROM legate.records WHERE expires_at <= time LIMIT in_limit
  ) AND expires_at <= time;
  GET DIAGNOSTICS records = ROW_COUNT;
  DELETE FROM legate.replicas WHERE expires_at < time - 86400000;
END $$;
