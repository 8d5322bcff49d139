-- Commands are turns without a task: `task_id` of their turn is the id of the command.

CREATE FUNCTION legate.queue_command(
  in_agent text,
  in_key text,
  in_id text,
  in_replica text,
  in_request text,
  OUT turn bigint,
  OUT is_running boolean
) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1279739201, hashtext(in_key));
  is_running := NOT EXISTS (SELECT FROM legate.turns WHERE key = in_key);
  INSERT INTO legate.turns (agent, key, task_id, attempt, replica, request)
  VALUES (in_agent, in_key, in_id, 1, CASE WHEN is_running THEN in_replica END, in_request)
  RETURNING id INTO turn;
END $$;

-- Starts the first turn of a key, unless it runs already. The caller holds the lock of the key.
CREATE FUNCTION legate.start_next(
  in_key text,
  in_replica text,
  OUT next_turn bigint,
  OUT next_key text,
  OUT next_task text,
  OUT next_attempt integer,
  OUT next_request text
) LANGUAGE sql AS $$
  UPDATE legate.turns SET replica = in_replica
  WHERE replica IS NULL AND id = (
    SELECT id FROM legate.turns WHERE key = in_key ORDER BY id LIMIT 1
  ) RETURNING id, key, task_id, attempt, request
$$;

CREATE FUNCTION legate.end_command(
  in_turn bigint,
  in_replica text,
  in_context_owner text,
  in_context_id text,
  in_context_value text,
  in_context_log text[],
  in_spaces text[],
  in_keys text[],
  in_values text[],
  in_expiries bigint[],
  in_versions bigint[],
  in_now bigint,
  OUT kind text,
  OUT next_turn bigint,
  OUT next_key text,
  OUT next_task text,
  OUT next_attempt integer,
  OUT next_request text
) LANGUAGE plpgsql AS $$
DECLARE
  idle_key text;
BEGIN
  SELECT key INTO idle_key FROM legate.turns WHERE id = in_turn AND replica = in_replica;
  IF NOT FOUND THEN
    kind := 'fenced';
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(1279739201, hashtext(idle_key));
  PERFORM FROM legate.turns WHERE id = in_turn AND replica = in_replica FOR UPDATE;
  IF NOT FOUND THEN
    -- It was taken over or dropped between the look above and its lock.
    kind := 'fenced';
    RETURN;
  END IF;
  IF in_keys IS NOT NULL AND NOT legate.write_records(
    in_spaces, in_keys, in_values, in_expiries, in_versions, in_now
  ) THEN
    kind := 'version-conflict';
    RETURN;
  END IF;
  IF in_context_id IS NOT NULL THEN
    PERFORM legate.write_context(
      in_context_owner, in_context_id, in_context_value, in_context_log, in_now
    );
  END IF;
  DELETE FROM legate.turns WHERE id = in_turn;
  SELECT next.* INTO next_turn, next_key, next_task, next_attempt, next_request
  FROM legate.start_next(idle_key, in_replica) AS next;
  kind := 'ended';
END $$;

CREATE FUNCTION legate.drop_commands(
  in_key text,
  in_replica text,
  OUT ids text[],
  OUT next_turn bigint,
  OUT next_key text,
  OUT next_task text,
  OUT next_attempt integer,
  OUT next_request text
) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1279739201, hashtext(in_key));
  WITH dropped AS (
    DELETE FROM legate.turns
    WHERE key = in_key AND NOT EXISTS (SELECT FROM legate.tasks WHERE tasks.id = turns.task_id)
    RETURNING task_id
  )
  SELECT coalesce(array_agg(task_id), '{}') INTO ids FROM dropped;
  SELECT next.* INTO next_turn, next_key, next_task, next_attempt, next_request
  FROM legate.start_next(in_key, in_replica) AS next;
END $$;
