-- Deletes a task with all that hangs on it. The caller holds its row.
CREATE FUNCTION legate.remove_task(in_task_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  gone record;
BEGIN
  DELETE FROM legate.tasks WHERE id = in_task_id
  RETURNING number, owner, state, push_configs INTO gone;
  DELETE FROM legate.events WHERE task = gone.number;
  DELETE FROM legate.snapshots WHERE task = gone.number;
  IF gone.push_configs > 0 THEN
    DELETE FROM legate.deliveries WHERE config IN (
      SELECT number FROM legate.push_configs WHERE task_id = in_task_id
    );
    DELETE FROM legate.push_configs WHERE task_id = in_task_id;
  END IF;
  IF gone.state IN (3, 4, 5, 7) THEN
    PERFORM legate.count_ended(gone.owner, gone.state, -1);
  END IF;
END $$;

-- Lets a message in. Looked at in this order: the message came before, the task cannot be continued,
-- the limit of contexts. Without `in_task` the task exists; without `in_message_key` repeats are not
-- recognised; with a limit of 0 there is none, and with one below 0 it is reached already. A count of
-- contexts that was made is told.
CREATE FUNCTION legate.admit(
  in_agent text,
  in_owner text,
  in_key text,
  in_task_id text,
  in_context_id text,
  in_replica text,
  in_now bigint,
  in_request text,
  in_message_key text,
  in_digest text,
  in_message_expires_at bigint,
  in_task text,
  in_state smallint,
  in_push_id text,
  in_push_body text,
  in_push_version text,
  in_max_contexts integer,
  OUT kind text,
  OUT turn bigint,
  OUT is_running boolean,
  OUT known_task text,
  OUT has_ended boolean,
  OUT reply text,
  OUT contexts bigint
) LANGUAGE plpgsql AS $$
DECLARE
  known record;
  present record;
  created bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(1279739201, hashtext(in_key));
  IF in_message_key IS NOT NULL THEN
    SELECT messages.* INTO known FROM legate.messages
    WHERE messages.owner = in_owner AND messages.key = in_message_key;
    IF FOUND THEN
      has_ended := NOT EXISTS (SELECT FROM legate.turns WHERE id = known.turn);
      IF NOT has_ended OR (known.expires_at > in_now AND (
        known.reply IS NOT NULL OR EXISTS (SELECT FROM legate.tasks WHERE id = known.task_id)
      )) THEN
        kind := CASE WHEN known.digest = in_digest THEN 'duplicate' ELSE 'reused' END;
        known_task := known.task_id;
        reply := known.reply;
        RETURN;
      END IF;
      DELETE FROM legate.messages WHERE messages.turn = known.turn;
    END IF;
  END IF;

  IF in_task IS NULL THEN
    -- Held until the turn is written: a task that ends meanwhile would leave it behind.
    SELECT owner, state INTO present FROM legate.tasks WHERE id = in_task_id FOR SHARE;
    IF NOT FOUND OR present.owner <> in_owner THEN
      kind := 'task-not-found';
      RETURN;
    END IF;
    IF present.state IN (3, 4, 5, 7) THEN
      kind := 'task-ended';
      RETURN;
    END IF;
  ELSIF in_max_contexts <> 0 AND NOT EXISTS (
    SELECT FROM legate.tasks WHERE agent = in_agent AND owner = in_owner
      AND context_id = in_context_id AND state NOT IN (3, 4, 5, 7)
  ) THEN
    IF in_max_contexts > 0 THEN
      contexts := legate.open_contexts(in_agent);
    END IF;
    IF in_max_contexts < 0 OR contexts >= in_max_contexts THEN
      kind := 'context-limit';
      RETURN;
    END IF;
  END IF;

  is_running := NOT EXISTS (SELECT FROM legate.turns WHERE key = in_key);
  INSERT INTO legate.turns (agent, key, task_id, attempt, replica, request)
  VALUES (
    in_agent, in_key, in_task_id, 1, CASE WHEN is_running THEN in_replica END, in_request
  ) RETURNING id INTO turn;
  IF in_message_key IS NOT NULL THEN
    -- The same message, admitted on another replica at this very moment, is a unique violation: the
    -- transaction fails and is tried again, and then finds it.
    INSERT INTO legate.messages (turn, owner, key, digest, task_id, expires_at)
    VALUES (turn, in_owner, in_message_key, in_digest, in_task_id, in_message_expires_at);
  END IF;
  IF in_task IS NOT NULL THEN
    INSERT INTO legate.tasks (id, agent, owner, context_id, state, status_time, version)
    VALUES (in_task_id, in_agent, in_owner, in_context_id, in_state, in_now, 1)
    RETURNING number INTO created;
    INSERT INTO legate.events (task, sequence, body)
    VALUES (created, 1, '{"task":' || in_task || '}');
    IF in_state IN (3, 4, 5, 7) THEN
      PERFORM legate.count_ended(in_owner, in_state, 1);
    END IF;
    IF in_push_id IS NOT NULL THEN
      INSERT INTO legate.deliveries (config, sequence, is_head, due_at)
      VALUES (
        legate.put_push(in_task_id, in_push_id, in_push_body, in_push_version), 1, true, in_now
      );
    END IF;
  END IF;
  kind := 'admitted';
END $$;

-- Appends events to the log of a task, with all that belongs to the same moment.
CREATE FUNCTION legate.append(
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
      in_context_owner, in_context_id, in_context_value, in_context_log
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

-- Gives a replica turns that no live replica runs, and with `in_at_work` also those that run in its
-- own name under keys it knows nothing of.
CREATE FUNCTION legate.take_over(
  in_agent text,
  in_replica text,
  in_now bigint,
  in_limit integer,
  in_at_work text[]
) RETURNS SETOF legate.turns LANGUAGE sql AS $$
  WITH abandoned AS (
    SELECT turns.id, turns.replica FROM legate.turns
    WHERE turns.agent = in_agent AND CASE
      WHEN turns.replica IS NULL THEN NOT EXISTS (
        SELECT FROM legate.turns AS earlier
        WHERE earlier.key = turns.key AND earlier.id < turns.id
      )
      WHEN turns.replica = in_replica THEN turns.key <> ALL (in_at_work)
      ELSE NOT EXISTS (
        SELECT FROM legate.replicas
        WHERE replicas.id = turns.replica AND replicas.expires_at > in_now
      )
    END
    ORDER BY turns.id LIMIT in_limit FOR UPDATE OF turns SKIP LOCKED
  )
  UPDATE legate.turns
  SET replica = in_replica,
      -- One that ran elsewhere has failed.
      attempt = turns.attempt + CASE WHEN abandoned.replica <> in_replica THEN 1 ELSE 0 END
  FROM abandoned WHERE turns.id = abandoned.id
  RETURNING turns.*
$$;

-- Deletes what is over, and says how many tasks that were.
CREATE FUNCTION legate.sweep(in_now bigint, in_terminal_before bigint, in_limit integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  task record;
  owners text[] := '{}';
  swept integer := 0;
BEGIN
  FOR task IN
    SELECT id, owner, push_configs FROM legate.tasks
    WHERE state IN (3, 4, 5, 7) AND status_time < in_terminal_before
    ORDER BY status_time FOR UPDATE SKIP LOCKED
  LOOP
    EXIT WHEN swept = in_limit;
    CONTINUE WHEN task.push_configs > 0 AND EXISTS (
      SELECT FROM legate.push_configs AS configs
      JOIN legate.deliveries ON deliveries.config = configs.number AND NOT deliveries.is_dead
      WHERE configs.task_id = task.id
    );
    PERFORM legate.remove_task(task.id);
    swept := swept + 1;
    IF task.owner <> ALL (owners) THEN
      owners := owners || task.owner;
    END IF;
  END LOOP;
  PERFORM legate.forget_owner(owner) FROM unnest(owners) AS owner;

  DELETE FROM legate.messages WHERE turn IN (
    SELECT turn FROM legate.messages
    WHERE expires_at <= in_now AND NOT EXISTS (SELECT FROM legate.turns WHERE id = turn)
    LIMIT in_limit
  );
  DELETE FROM legate.records WHERE (space, key) IN (
    SELECT space, key FROM legate.records WHERE expires_at <= in_now LIMIT in_limit
  ) AND expires_at <= in_now;
  DELETE FROM legate.replicas WHERE expires_at < in_now - 86400000;
  RETURN swept;
END $$;
