-- 9: input-required, but a later task of its context has taken the conversation over. For the limit of
-- contexts and for retention such a task has ended, until a message continues it.
INSERT INTO legate.task_states VALUES (9, 'TASK_STATE_INPUT_REQUIRED, superseded', false);
DROP INDEX legate.tasks_over;
CREATE INDEX tasks_over ON legate.tasks (status_time) WHERE state IN (3, 4, 5, 7, 9);

CREATE OR REPLACE FUNCTION legate.open_contexts(in_agent text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1279739202, hashtext(in_agent));
  RETURN (
    SELECT count(*) FROM (
      SELECT DISTINCT owner, context_id FROM legate.tasks
      WHERE agent = in_agent AND state NOT IN (3, 4, 5, 7) AND state <> 9
    ) AS contexts
  );
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
      AND context_id = in_context_id AND state NOT IN (3, 4, 5, 7) AND state <> 9
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

CREATE OR REPLACE FUNCTION legate.sweep_over(
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
    WHERE state IN (3, 4, 5, 7, 9) AND status_time < time - in_retention
      AND (state <> 9 OR NOT EXISTS (SELECT FROM legate.turns WHERE turns.task_id = tasks.id))
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
        AND tasks.state NOT IN (3, 4, 5, 7, 9)
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
