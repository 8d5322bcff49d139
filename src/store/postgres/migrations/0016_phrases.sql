-- Stops an autovacuum, and no reader or writer.
LOCK TABLE legate.event_batches IN SHARE UPDATE EXCLUSIVE MODE;
-- The migration gives this lock up soon, and tries again.
SET LOCAL lock_timeout = '300ms';
LOCK TABLE legate.event_batches IN ACCESS EXCLUSIVE MODE;

-- Rows of the log with a control character for each phrase that events repeat: src/store/phrases.ts. The
-- first event has the names of its task and its context once.
ALTER TABLE legate.event_batches RENAME TO event_rows;
ALTER TABLE legate.event_rows RENAME CONSTRAINT event_batches_pkey TO event_rows_pkey;

-- What replicas of the version before read and write.
CREATE FUNCTION legate.without_phrases(in_body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  phrases text[] := ARRAY[
    E'\x03', '{"statusUpdate":{',
    E'\x04', '{"artifactUpdate":{',
    E'\x14', ',"status":{"state":"TASK_STATE_SUBMITTED","timestamp":"',
    E'\x15', ',"status":{"state":"TASK_STATE_WORKING","timestamp":"',
    E'\x16', ',"status":{"state":"TASK_STATE_COMPLETED","timestamp":"',
    E'\x05', ',"status":{"state":"TASK_STATE_',
    E'\x06', '","timestamp":"',
    E'\x07', ',"artifact":{"artifactId":"',
    E'\x08', ',"parts":[{"text":"',
    E'\x0b', '}]},"append":true,"lastChunk":false}}',
    E'\x0c', '}]},"lastChunk":true}}',
    E'\x0e', ',"history":[{"messageId":"',
    E'\x0f', ',"message":{"messageId":"',
    E'\x10', ',"role":"ROLE_USER"',
    E'\x11', ',"role":"ROLE_AGENT"',
    E'\x12', 'Z"}}}'
  ];
BEGIN
  FOR place IN 1 .. cardinality(phrases) BY 2 LOOP
    in_body := replace(in_body, phrases[place], phrases[place + 1]);
  END LOOP;
  RETURN in_body;
END $$;
CREATE FUNCTION legate.with_own_names(in_body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  names text[] := regexp_match(
    in_body, '^\{"task":\{"id":("(?:[^"\\]|\\.)*"),"contextId":("(?:[^"\\]|\\.)*")'
  );
BEGIN
  RETURN coalesce(replace(
    replace(in_body, E'\x01', '"taskId":' || names[1]), E'\x02', '"contextId":' || names[2]
  ), in_body);
END $$;
CREATE VIEW legate.event_batches AS
  SELECT task, sequence,
    CASE sequence WHEN 1 THEN legate.with_own_names(legate.without_phrases(body))
      ELSE legate.without_phrases(body) END AS body
  FROM legate.event_rows;
CREATE FUNCTION legate.write_event_batches() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO legate.event_rows (task, sequence, body)
  VALUES (NEW.task, NEW.sequence, NEW.body);
  RETURN NEW;
END $$;
CREATE TRIGGER write_event_batches INSTEAD OF INSERT ON legate.event_batches
  FOR EACH ROW EXECUTE FUNCTION legate.write_event_batches();
CREATE OR REPLACE VIEW legate.events AS
  SELECT batch.task, (batch.sequence - cardinality(lines) + line.place)::integer AS sequence,
    CASE WHEN line.body ~ E'[\x01\x02]' THEN legate.with_names(line.body, batch.task)
      ELSE line.body END AS body
  FROM legate.event_batches AS batch
  CROSS JOIN LATERAL string_to_array(batch.body, E'\n') AS lines
  CROSS JOIN LATERAL unnest(lines) WITH ORDINALITY AS line (body, place);

-- Deletes an open task with all that hangs on it. The caller holds its row.
CREATE OR REPLACE FUNCTION legate.remove_task(in_task_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  gone record;
BEGIN
  DELETE FROM legate.open_tasks WHERE id = in_task_id RETURNING number, push_configs INTO gone;
  IF NOT FOUND THEN
    DELETE FROM legate.ended_tasks WHERE id = in_task_id RETURNING number, push_configs INTO gone;
  END IF;
  DELETE FROM legate.event_rows WHERE task = gone.number;
  DELETE FROM legate.snapshots WHERE task = gone.number;
  IF gone.push_configs > 0 THEN
    DELETE FROM legate.deliveries WHERE config IN (
      SELECT number FROM legate.push_configs WHERE task_id = in_task_id
    );
    DELETE FROM legate.push_configs WHERE task_id = in_task_id;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION legate.sweep_over(
  in_retention bigint,
  in_context_retention bigint,
  in_limit integer,
  OUT tasks integer,
  OUT contexts integer,
  OUT messages integer,
  OUT records integer
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  time bigint := legate.clock();
BEGIN
  WITH old AS (
    SELECT id FROM legate.ended_tasks
    WHERE status_time < time - in_retention AND state >= 0
      AND (NOT legate.is_superseded(state) OR NOT EXISTS (SELECT FROM legate.turns WHERE task_id = ended_tasks.id))
      AND (push_configs = 0 OR NOT EXISTS (
        SELECT FROM legate.push_configs AS configs
        JOIN legate.deliveries ON deliveries.config = configs.number AND NOT deliveries.is_dead
        WHERE configs.task_id = ended_tasks.id
      ))
    ORDER BY status_time LIMIT in_limit FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM legate.ended_tasks USING old WHERE ended_tasks.id = old.id
    RETURNING ended_tasks.id, ended_tasks.number, ended_tasks.push_configs
  ), batches AS (
    DELETE FROM legate.event_rows USING gone WHERE event_rows.task = gone.number
  ), views AS (
    DELETE FROM legate.snapshots USING gone WHERE snapshots.task = gone.number
  ), configs AS (
    DELETE FROM legate.push_configs USING gone
    WHERE gone.push_configs > 0 AND push_configs.task_id = gone.id
    RETURNING push_configs.number
  ), owed AS (
    DELETE FROM legate.deliveries USING configs WHERE deliveries.config = configs.number
  )
  SELECT count(*) INTO tasks FROM gone;

  WITH old AS (
    SELECT number FROM legate.contexts
    WHERE written_until <= time - in_context_retention AND NOT EXISTS (
      SELECT FROM legate.open_tasks
      WHERE open_tasks.owner = contexts.owner AND open_tasks.context_id = contexts.context_id
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

CREATE OR REPLACE FUNCTION legate.admit(
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
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  known record;
  present record;
BEGIN
  kind := pg_advisory_xact_lock(1279739201, hashtext(in_key));
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
    -- Held until the turn is written: a task that ends meanwhile would leave it behind. A superseded
    -- task may be opened again between two looks.
    FOR look IN 1 .. 2 LOOP
      SELECT owner, state INTO present FROM legate.open_tasks WHERE id = in_task_id FOR SHARE;
      EXIT WHEN FOUND;
      SELECT owner, state INTO present FROM legate.ended_tasks WHERE id = in_task_id FOR SHARE;
      EXIT WHEN FOUND;
    END LOOP;
    IF present.owner IS DISTINCT FROM in_owner THEN
      kind := 'task-not-found';
      RETURN;
    END IF;
    IF legate.is_terminal(present.state) THEN
      kind := 'task-ended';
      RETURN;
    END IF;
  ELSIF in_max_contexts <> 0 AND NOT EXISTS (
    SELECT FROM legate.open_tasks
    WHERE agent = in_agent AND owner = in_owner AND context_id = in_context_id
  ) THEN
    IF in_max_contexts > 0 THEN
      contexts := legate.open_contexts(in_agent);
    END IF;
    IF in_max_contexts < 0 OR contexts >= in_max_contexts THEN
      kind := 'context-limit';
      RETURN;
    END IF;
  END IF;

  IF in_task IS NULL THEN
    INSERT INTO legate.turns (agent, key, task_id, attempt, replica, request)
    VALUES (
      in_agent, in_key, in_task_id, 1,
      CASE WHEN NOT EXISTS (SELECT FROM legate.turns WHERE key = in_key) THEN in_replica END,
      in_request
    ) RETURNING id, replica IS NOT NULL INTO turn, is_running;
  ELSE
    WITH task AS (
      INSERT INTO legate.open_tasks (id, agent, owner, context_id, state, status_time, version)
      SELECT in_task_id, in_agent, in_owner, in_context_id, in_state, in_now, 1
      WHERE NOT EXISTS (SELECT FROM legate.ended_tasks WHERE id = in_task_id)
      RETURNING number
    ), log AS (
      INSERT INTO legate.event_rows (task, sequence, body)
      SELECT number, 1, '{"task":' || in_task || '}' FROM task
    )
    INSERT INTO legate.turns (agent, key, task_id, attempt, replica, request)
    SELECT in_agent, in_key, in_task_id, 1,
      CASE WHEN NOT EXISTS (SELECT FROM legate.turns WHERE key = in_key) THEN in_replica END,
      in_request
    FROM task
    RETURNING id, replica IS NOT NULL INTO turn, is_running;
    IF NOT FOUND THEN
      RAISE unique_violation USING
        CONSTRAINT = 'ended_tasks_pkey', MESSAGE = 'a task of this id has ended';
    END IF;
    IF legate.is_terminal(in_state) THEN
      WITH gone AS (DELETE FROM legate.open_tasks WHERE id = in_task_id RETURNING number)
      INSERT INTO legate.ended_tasks (
        id, number, agent, owner, context_id, state, status_time, version
      )
      SELECT in_task_id, number, in_agent, in_owner, in_context_id, in_state, in_now, 1 FROM gone;
    END IF;
    IF in_push_id IS NOT NULL THEN
      INSERT INTO legate.deliveries (config, sequence, is_head, due_at)
      VALUES (
        legate.put_push(in_task_id, in_push_id, in_push_body, in_push_version), 1, true, in_now
      );
    END IF;
  END IF;
  IF in_message_key IS NOT NULL THEN
    -- The same message, admitted on another replica at this very moment, is a unique violation: the
    -- transaction fails and is tried again, and then finds it.
    INSERT INTO legate.messages (turn, owner, key, digest, task_id, expires_at)
    VALUES (turn, in_owner, in_message_key, in_digest, in_task_id, in_message_expires_at);
  END IF;
  kind := 'admitted';
END $$;

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
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  ends_task boolean := legate.is_terminal(in_state) OR in_reply IS NOT NULL;
  ends_turn boolean := in_turn IS NOT NULL AND (ends_task OR in_ends_turn);
  leaves_open boolean := legate.has_ended(in_state);
  last integer := in_version + cardinality(in_events);
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
    IF ends_turn THEN
      kind := pg_advisory_xact_lock(1279739201, hashtext(idle_key));
    END IF;
  ELSIF ends_task THEN
    PERFORM legate.lock_keys(ARRAY(SELECT key FROM legate.turns WHERE task_id = in_task_id));
  END IF;

  IF in_reply IS NOT NULL OR in_keys IS NOT NULL THEN
    SELECT cancel_requested INTO task FROM legate.open_tasks
    WHERE id = in_task_id AND version = in_version FOR UPDATE;
    IF NOT FOUND THEN
      SELECT cancel_requested INTO task FROM legate.ended_tasks
      WHERE id = in_task_id AND version = in_version AND legate.is_superseded(state) FOR UPDATE;
    END IF;
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
    IF leaves_open THEN
      WITH gone AS (
        DELETE FROM legate.open_tasks WHERE id = in_task_id AND version = in_version
        RETURNING number, agent, owner, context_id, cancel_requested, push_configs
      )
      INSERT INTO legate.ended_tasks (
        id, number, agent, owner, context_id, state, status_time, version, cancel_requested,
        push_configs
      )
      SELECT in_task_id, number, agent, owner, context_id, in_state, in_status_time, last,
        cancel_requested, push_configs
      FROM gone RETURNING number, context_id, cancel_requested, push_configs INTO task;
    ELSE
      UPDATE legate.open_tasks
      SET version = last, state = in_state, status_time = in_status_time
      WHERE id = in_task_id AND version = in_version
      RETURNING number, context_id, cancel_requested, push_configs INTO task;
    END IF;
    IF NOT FOUND AND leaves_open THEN
      UPDATE legate.ended_tasks
      SET version = last, state = in_state, status_time = in_status_time
      WHERE id = in_task_id AND version = in_version AND legate.is_superseded(state)
      RETURNING number, context_id, cancel_requested, push_configs INTO task;
    ELSIF NOT FOUND THEN
      WITH gone AS (
        DELETE FROM legate.ended_tasks
        WHERE id = in_task_id AND version = in_version AND legate.is_superseded(state)
        RETURNING number, agent, owner, context_id, cancel_requested, push_configs
      )
      INSERT INTO legate.open_tasks (
        id, number, agent, owner, context_id, state, status_time, version, cancel_requested,
        push_configs
      )
      SELECT in_task_id, number, agent, owner, context_id, in_state, in_status_time, last,
        cancel_requested, push_configs
      FROM gone RETURNING number, context_id, cancel_requested, push_configs INTO task;
    END IF;
    IF NOT FOUND THEN
      kind := 'version-conflict';
      RETURN;
    END IF;
    IF cardinality(in_events) BETWEEN 1 AND 16 THEN
      INSERT INTO legate.event_rows (task, sequence, body)
      VALUES (task.number, last, legate.without_names(
        array_to_string(in_events, E'\n'), in_task_id, task.context_id
      ));
    ELSIF cardinality(in_events) > 16 THEN
      INSERT INTO legate.event_rows (task, sequence, body)
      SELECT task.number, in_version + max(event.place),
        legate.without_names(
          string_agg(event.body, E'\n' ORDER BY event.place), in_task_id, task.context_id
        )
      FROM unnest(in_events) WITH ORDINALITY AS event (body, place)
      GROUP BY (event.place - 1) / 16;
    END IF;
    IF task.push_configs > 0 AND cardinality(in_events) > 0 THEN
      has_deliveries := legate.owe(in_task_id, in_version, in_is_told, in_now);
    END IF;
    IF in_snapshot IS NOT NULL THEN
      INSERT INTO legate.snapshots AS snapshots (task, version, body)
      VALUES (task.number, in_snapshot_version, in_snapshot)
      ON CONFLICT ON CONSTRAINT snapshots_pkey
      DO UPDATE SET version = excluded.version, body = excluded.body;
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
  IF ends_task AND EXISTS (SELECT FROM legate.turns WHERE task_id = in_task_id) THEN
    WITH gone AS (DELETE FROM legate.turns WHERE task_id = in_task_id RETURNING id, key)
    SELECT coalesce(idle_key, (array_agg(key ORDER BY id))[1]) INTO idle_key FROM gone;
  END IF;
  IF idle_key IS NOT NULL AND EXISTS (SELECT FROM legate.turns WHERE key = idle_key) THEN
    UPDATE legate.turns SET replica = in_replica
    WHERE replica IS NULL AND id = (
      SELECT id FROM legate.turns WHERE key = idle_key ORDER BY id + 0 LIMIT 1
    ) RETURNING id, key, task_id, attempt, request
    INTO next_turn, next_key, next_task, next_attempt, next_request;
  END IF;
  kind := 'appended';
  is_cancel_requested := task.cancel_requested;
END $$;
