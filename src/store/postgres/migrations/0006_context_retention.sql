-- Until when a context counts as written: the end of the hour of its last write. Whole hours, so that
-- most writes leave the index alone. Null: never swept. Contexts that are there were written now.
ALTER TABLE legate.contexts
  ADD COLUMN written_until bigint DEFAULT (extract(epoch FROM now()) * 1000)::bigint;
ALTER TABLE legate.contexts ALTER COLUMN written_until DROP DEFAULT;
CREATE INDEX contexts_by_time ON legate.contexts (written_until);

DROP FUNCTION legate.write_context(text, text, text, text[]);

-- Without `in_now` the time of the last write stays.
CREATE FUNCTION legate.write_context(
  in_owner text,
  in_context_id text,
  in_value text,
  in_log text[],
  in_now bigint DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  context bigint;
  total integer;
  added integer := cardinality(in_log);
BEGIN
  INSERT INTO legate.contexts AS contexts (owner, context_id, value, log_length, written_until)
  VALUES (in_owner, in_context_id, in_value, added, (in_now / 3600000 + 1) * 3600000)
  ON CONFLICT (owner, context_id) DO UPDATE
  SET value = coalesce(excluded.value, contexts.value),
      log_length = contexts.log_length + excluded.log_length,
      written_until = coalesce(excluded.written_until, contexts.written_until)
  RETURNING contexts.number, contexts.log_length INTO context, total;
  IF added > 0 THEN
    INSERT INTO legate.context_log (context, sequence, body)
    SELECT context, total - added + entry.place, entry.body
    FROM unnest(in_log) WITH ORDINALITY AS entry (body, place);
  END IF;
END $$;

-- As before, save that the context learns when it was written.
CREATE OR REPLACE FUNCTION legate.append(
  in_task_id text,
  in_version integer,
  in_events text[],
  -- Whether webhooks are told of the event of that place.
  in_is_told boolean[],
  in_state smallint,
  in_status_time bigint,
  in_snapshot_version integer,
  in_snapshot text,
  in_turn bigint,
  in_turn_replica text,
  in_ends_turn boolean,
  in_reply text,
  in_context_owner text,
  in_context_id text,
  in_context_value text,
  in_context_log text[],
  in_spaces text[],
  in_keys text[],
  in_values text[],
  in_expiries bigint[],
  in_versions bigint[],
  in_replica text,
  in_now bigint,
  OUT kind text,
  OUT is_cancel_requested boolean,
  OUT has_deliveries boolean,
  OUT next_turn bigint,
  OUT next_key text,
  OUT next_task text,
  OUT next_attempt integer,
  OUT next_request text
) LANGUAGE plpgsql AS $$
DECLARE
  ends_task boolean := in_state IN (3, 4, 5, 7) OR in_reply IS NOT NULL;
  ends_turn boolean := in_turn IS NOT NULL AND (ends_task OR in_ends_turn);
  -- The key that may have a next turn.
  idle_key text;
  task record;
BEGIN
  IF in_turn IS NOT NULL THEN
    IF ends_turn THEN
      SELECT key INTO idle_key FROM legate.turns
      WHERE id = in_turn AND replica = in_turn_replica AND task_id = in_task_id;
    ELSE
      -- Held until the end: nobody takes the turn over between this look and the write.
      PERFORM FROM legate.turns
      WHERE id = in_turn AND replica = in_turn_replica AND task_id = in_task_id FOR UPDATE;
    END IF;
    IF NOT FOUND THEN
      kind := 'fenced';
      RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(1279739201, hashtext(idle_key)) WHERE ends_turn;
  ELSIF ends_task THEN
    PERFORM legate.lock_keys(ARRAY(SELECT key FROM legate.turns WHERE task_id = in_task_id));
  END IF;

  IF in_reply IS NOT NULL OR in_keys IS NOT NULL THEN
    SELECT cancel_requested INTO task FROM legate.tasks
    WHERE id = in_task_id AND version = in_version AND state NOT IN (3, 4, 5, 7) FOR UPDATE;
    IF NOT FOUND OR in_keys IS NOT NULL AND NOT legate.write_records(
      in_spaces, in_keys, in_values, in_expiries, in_versions, in_now
    ) THEN
      kind := 'version-conflict';
      RETURN;
    END IF;
  END IF;
  has_deliveries := false;
  IF in_reply IS NOT NULL THEN
    UPDATE legate.messages SET reply = in_reply WHERE turn = in_turn;
    PERFORM legate.remove_task(in_task_id);
  ELSE
    UPDATE legate.tasks
    SET version = in_version + cardinality(in_events), state = in_state,
        status_time = in_status_time
    WHERE id = in_task_id AND version = in_version AND state NOT IN (3, 4, 5, 7)
    RETURNING number, owner, cancel_requested, push_configs INTO task;
    IF NOT FOUND THEN
      kind := 'version-conflict';
      RETURN;
    END IF;
    IF cardinality(in_events) > 0 THEN
      INSERT INTO legate.events (task, sequence, body)
      SELECT task.number, in_version + event.place, event.body
      FROM unnest(in_events) WITH ORDINALITY AS event (body, place);
      IF task.push_configs > 0 THEN
        has_deliveries := legate.owe(in_task_id, in_version, in_is_told, in_now);
      END IF;
    END IF;
    IF in_snapshot IS NOT NULL THEN
      INSERT INTO legate.snapshots AS snapshots (task, version, body)
      VALUES (task.number, in_snapshot_version, in_snapshot)
      ON CONFLICT ON CONSTRAINT snapshots_pkey
      DO UPDATE SET version = excluded.version, body = excluded.body;
    END IF;
    IF ends_task THEN
      PERFORM legate.count_ended(task.owner, in_state, 1);
    END IF;
  END IF;
  IF in_context_id IS NOT NULL THEN
    PERFORM legate.write_context(
      in_context_owner, in_context_id, in_context_value, in_context_log, in_now
    );
  END IF;

  IF ends_turn THEN
    DELETE FROM legate.turns WHERE id = in_turn AND replica = in_turn_replica;
    IF NOT FOUND THEN
      -- It was taken over between the look above and its lock: the next try sees that.
      RAISE serialization_failure USING MESSAGE = 'the turn was taken over';
    END IF;
  END IF;
  IF ends_task THEN
    IF in_turn IS NULL THEN
      SELECT key INTO idle_key FROM legate.turns WHERE task_id = in_task_id ORDER BY id LIMIT 1;
    END IF;
    DELETE FROM legate.turns WHERE task_id = in_task_id;
  END IF;
  IF idle_key IS NOT NULL THEN
    UPDATE legate.turns SET replica = in_replica
    WHERE replica IS NULL AND id = (
      SELECT id FROM legate.turns WHERE key = idle_key ORDER BY id LIMIT 1
    ) RETURNING id, key, task_id, attempt, request
    INTO next_turn, next_key, next_task, next_attempt, next_request;
  END IF;
  kind := 'appended';
  is_cancel_requested := task.cancel_requested;
END $$;
