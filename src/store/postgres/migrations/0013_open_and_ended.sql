-- Stops an autovacuum, and no reader or writer.
LOCK TABLE legate.tasks, legate.events IN SHARE UPDATE EXCLUSIVE MODE;
-- In the order in which writers touch these tables, so that a writer that holds one of them waits for none of
-- the others. Readers and writers that come later wait behind this lock, so the migration gives it up soon, and
-- tries again. Nothing below stops writers of other tables.
SET LOCAL lock_timeout = '300ms';
LOCK TABLE legate.tasks, legate.events IN ACCESS EXCLUSIVE MODE;

-- What numbers of states mean; the planner replaces calls by their text. `task_states` has the names.
CREATE FUNCTION legate.is_terminal(state smallint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT state IN (3, 4, 5, 7)
$$;
CREATE FUNCTION legate.is_superseded(state smallint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT state = 9
$$;
CREATE FUNCTION legate.has_ended(state smallint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT state IN (3, 4, 5, 7, 9)
$$;

-- Tasks in two tables. An open task is updated in place: no index of `open_tasks` names a column that
-- changes, so its updates stay within the page (HOT). A task that ends moves to `ended_tasks`, which is
-- never updated, and so needs no room for versions of rows. A superseded task has ended, and moves back
-- when a message continues it. `legate.tasks` shows both.
ALTER TABLE legate.tasks RENAME TO ended_tasks;
ALTER TABLE legate.ended_tasks RENAME CONSTRAINT tasks_pkey TO ended_tasks_pkey;
CREATE SEQUENCE legate.task_numbers;
SELECT setval('legate.task_numbers', last_value, is_called) FROM legate.tasks_number_seq;
ALTER TABLE legate.ended_tasks ALTER COLUMN number DROP IDENTITY;
ALTER TABLE legate.ended_tasks ALTER COLUMN number SET DEFAULT nextval('legate.task_numbers');
ALTER TABLE legate.ended_tasks SET (fillfactor = 100);

CREATE TABLE legate.open_tasks (
  id text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL DEFAULT nextval('legate.task_numbers'),
  agent text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  state smallint NOT NULL,
  status_time bigint NOT NULL,
  version integer NOT NULL,
  cancel_requested boolean NOT NULL DEFAULT false,
  push_configs integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
-- By the index of tasks that have not ended; the planner may take the table for small.
SET LOCAL enable_seqscan = off;
WITH moved AS (
  DELETE FROM legate.ended_tasks
  WHERE NOT legate.has_ended(state)
  RETURNING id, number, agent, owner, context_id, state, status_time, version, cancel_requested,
    push_configs
)
INSERT INTO legate.open_tasks SELECT * FROM moved;
SET LOCAL enable_seqscan = on;
CREATE INDEX open_tasks_by_context ON legate.open_tasks (owner, context_id);
CREATE INDEX open_tasks_to_cancel ON legate.open_tasks (id) WHERE cancel_requested;

DROP INDEX legate.tasks_by_state, legate.tasks_open, legate.tasks_over;
ALTER INDEX legate.tasks_by_context RENAME TO ended_tasks_by_context;
ALTER INDEX legate.tasks_to_cancel RENAME TO ended_tasks_to_cancel;

CREATE VIEW legate.tasks AS
  SELECT id, number, agent, owner, context_id, state, status_time, version, cancel_requested,
    push_configs
  FROM legate.open_tasks
  UNION ALL
  SELECT id, number, agent, owner, context_id, state, status_time, version, cancel_requested,
    push_configs
  FROM legate.ended_tasks;

-- Replicas of the version before read and write `legate.tasks` and `legate.events` by these views: in
-- functions that waited for the lock above, and when they request a cancellation.
CREATE FUNCTION legate.write_tasks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT FROM legate.ended_tasks WHERE id = NEW.id) THEN
      RAISE unique_violation USING
        CONSTRAINT = 'ended_tasks_pkey', MESSAGE = 'a task of this id has ended';
    END IF;
    NEW.number := nextval('legate.task_numbers');
    NEW.cancel_requested := coalesce(NEW.cancel_requested, false);
    NEW.push_configs := coalesce(NEW.push_configs, 0);
  ELSIF TG_OP = 'UPDATE' AND NEW.version = OLD.version AND NEW.state = OLD.state THEN
    UPDATE legate.open_tasks
    SET cancel_requested = open_tasks.cancel_requested OR NEW.cancel_requested,
        push_configs = open_tasks.push_configs + NEW.push_configs - OLD.push_configs
    WHERE id = OLD.id;
    IF NOT FOUND THEN
      UPDATE legate.ended_tasks
      SET cancel_requested = ended_tasks.cancel_requested OR NEW.cancel_requested,
          push_configs = ended_tasks.push_configs + NEW.push_configs - OLD.push_configs
      WHERE id = OLD.id;
    END IF;
    RETURN CASE WHEN FOUND THEN NEW END;
  ELSE
    DELETE FROM legate.open_tasks WHERE id = OLD.id AND version = OLD.version
    RETURNING cancel_requested, push_configs INTO OLD.cancel_requested, OLD.push_configs;
    IF NOT FOUND THEN
      DELETE FROM legate.ended_tasks WHERE id = OLD.id AND version = OLD.version
        AND (TG_OP = 'DELETE' OR legate.is_superseded(state))
      RETURNING cancel_requested, push_configs INTO OLD.cancel_requested, OLD.push_configs;
    END IF;
    IF NOT FOUND THEN
      RETURN NULL;
    ELSIF TG_OP = 'DELETE' THEN
      RETURN OLD;
    END IF;
    NEW.cancel_requested := OLD.cancel_requested;
    NEW.push_configs := OLD.push_configs;
  END IF;
  IF legate.has_ended(NEW.state) THEN
    INSERT INTO legate.ended_tasks SELECT NEW.*;
  ELSE
    INSERT INTO legate.open_tasks SELECT NEW.*;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER write_tasks INSTEAD OF INSERT OR UPDATE OR DELETE ON legate.tasks
  FOR EACH ROW EXECUTE FUNCTION legate.write_tasks();

-- The events of one append in one row, one to a line: JSON on one line has no line break. `sequence` is
-- the number of the last of them. 16 events at most, so that reading a part of a log reads little else.
ALTER TABLE legate.events RENAME TO event_batches;
ALTER TABLE legate.event_batches RENAME CONSTRAINT events_pkey TO event_batches_pkey;

-- Every event names its task and its context. Those after the first one are stored without the names.
CREATE FUNCTION legate.without_names(in_body text, in_task_id text, in_context_id text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT replace(
    replace(in_body, '"taskId":"' || in_task_id || '"', E'\x01'),
    '"contextId":"' || in_context_id || '"', E'\x02'
  )
$$;
CREATE FUNCTION legate.with_names(in_body text, in_task bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT replace(
    replace(in_body, E'\x01', '"taskId":' || (body::json #> '{task,id}')),
    E'\x02', '"contextId":' || (body::json #> '{task,contextId}')
  ) FROM legate.event_batches WHERE task = in_task AND sequence = 1
$$;

CREATE VIEW legate.events AS
  SELECT batch.task, (batch.sequence - cardinality(lines) + line.place)::integer AS sequence,
    CASE WHEN line.body ~ E'[\x01\x02]' THEN legate.with_names(line.body, batch.task)
      ELSE line.body END AS body
  FROM legate.event_batches AS batch
  CROSS JOIN LATERAL string_to_array(batch.body, E'\n') AS lines
  CROSS JOIN LATERAL unnest(lines) WITH ORDINALITY AS line (body, place);

-- Events are deleted with their whole task only.
CREATE FUNCTION legate.write_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO legate.event_batches (task, sequence, body)
    VALUES (NEW.task, NEW.sequence, NEW.body);
    RETURN NEW;
  END IF;
  DELETE FROM legate.event_batches WHERE task = OLD.task;
  RETURN OLD;
END $$;
CREATE TRIGGER write_events INSTEAD OF INSERT OR DELETE ON legate.events
  FOR EACH ROW EXECUTE FUNCTION legate.write_events();

-- Totals are counted, up to a bound. A row of a counter that every send updates gets slower with each
-- update for as long as any snapshot is open. Replicas of the version before still read `task_counts`, so
-- their totals stand still, and call the functions that do nothing now.
CREATE OR REPLACE FUNCTION legate.count_ended(in_owner text, in_state smallint, in_change integer)
RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE OR REPLACE FUNCTION legate.forget_owner(in_owner text)
RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
DROP FUNCTION legate.sweep(bigint, bigint, integer);

-- Functions that run for every message, and the sweep, find rows by index only. The planner takes a table for small
-- that was empty a moment ago, and would read all rows that an open snapshot keeps from being removed.
CREATE OR REPLACE FUNCTION legate.lock_all(in_keys text[], in_turns bigint[], in_task_ids text[])
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  found_keys text[] := in_keys;
BEGIN
  IF cardinality(in_turns) > 0 THEN
    found_keys := found_keys || ARRAY(SELECT key FROM legate.turns WHERE id = ANY (in_turns));
  END IF;
  IF cardinality(in_task_ids) > 0 THEN
    found_keys := found_keys || ARRAY(SELECT key FROM legate.turns WHERE task_id = ANY (in_task_ids));
  END IF;
  PERFORM legate.lock_keys(found_keys);
END $$;

CREATE OR REPLACE FUNCTION legate.lock_keys(in_keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1279739201, place) FROM (
    SELECT DISTINCT hashtext(key) AS place FROM unnest(in_keys) AS key ORDER BY 1
  ) AS places;
END $$;

-- Holds the row of a task, wherever it is; false when there is none.
CREATE FUNCTION legate.hold_task(in_task_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  -- A superseded task may be opened again between the first two looks.
  FOR look IN 1 .. 2 LOOP
    PERFORM FROM legate.open_tasks WHERE id = in_task_id FOR UPDATE;
    IF FOUND THEN
      RETURN true;
    END IF;
    PERFORM FROM legate.ended_tasks WHERE id = in_task_id FOR UPDATE;
    IF FOUND THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END $$;

CREATE FUNCTION legate.count_push(in_task_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  total integer := (SELECT count(*) FROM legate.push_configs WHERE task_id = in_task_id);
BEGIN
  UPDATE legate.open_tasks SET push_configs = total WHERE id = in_task_id;
  IF NOT FOUND THEN
    UPDATE legate.ended_tasks SET push_configs = total WHERE id = in_task_id;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION legate.put_push(
  in_task_id text,
  in_id text,
  in_body text,
  in_wire_version text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  config bigint;
BEGIN
  INSERT INTO legate.push_configs AS configs (task_id, id, body, wire_version)
  VALUES (in_task_id, in_id, in_body, in_wire_version)
  ON CONFLICT (task_id, id) DO UPDATE
  SET body = excluded.body, wire_version = excluded.wire_version
  RETURNING configs.number INTO config;
  PERFORM legate.count_push(in_task_id);
  RETURN config;
END $$;

CREATE OR REPLACE FUNCTION legate.put_push_of(
  in_task_id text,
  in_id text,
  in_body text,
  in_wire_version text
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF NOT legate.hold_task(in_task_id) THEN
    RETURN false;
  END IF;
  PERFORM legate.put_push(in_task_id, in_id, in_body, in_wire_version);
  RETURN true;
END $$;

CREATE OR REPLACE FUNCTION legate.delete_push(in_task_id text, in_id text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  gone bigint;
BEGIN
  PERFORM legate.hold_task(in_task_id);
  DELETE FROM legate.push_configs WHERE task_id = in_task_id AND id = in_id
  RETURNING number INTO gone;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  DELETE FROM legate.deliveries WHERE config = gone;
  PERFORM legate.count_push(in_task_id);
  RETURN true;
END $$;

-- Marks an unfinished task; no row when there is none.
CREATE FUNCTION legate.request_cancel(in_task_id text)
RETURNS TABLE (version integer, is_running boolean, is_queued boolean)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  task record;
BEGIN
  FOR look IN 1 .. 2 LOOP
    UPDATE legate.open_tasks SET cancel_requested = true WHERE id = in_task_id
    RETURNING open_tasks.version INTO task;
    IF NOT FOUND THEN
      UPDATE legate.ended_tasks SET cancel_requested = true WHERE id = in_task_id AND legate.is_superseded(state)
      RETURNING ended_tasks.version INTO task;
    END IF;
    IF FOUND THEN
      RETURN QUERY SELECT task.version,
        EXISTS (SELECT FROM legate.turns WHERE task_id = in_task_id AND replica IS NOT NULL),
        EXISTS (SELECT FROM legate.turns WHERE task_id = in_task_id AND replica IS NULL);
      RETURN;
    END IF;
  END LOOP;
END $$;

-- Deletes an open task with all that hangs on it. The caller holds its row.
CREATE OR REPLACE FUNCTION legate.remove_task(in_task_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  gone record;
BEGIN
  DELETE FROM legate.open_tasks WHERE id = in_task_id RETURNING number, push_configs INTO gone;
  IF NOT FOUND THEN
    DELETE FROM legate.ended_tasks WHERE id = in_task_id RETURNING number, push_configs INTO gone;
  END IF;
  DELETE FROM legate.event_batches WHERE task = gone.number;
  DELETE FROM legate.snapshots WHERE task = gone.number;
  IF gone.push_configs > 0 THEN
    DELETE FROM legate.deliveries WHERE config IN (
      SELECT number FROM legate.push_configs WHERE task_id = in_task_id
    );
    DELETE FROM legate.push_configs WHERE task_id = in_task_id;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION legate.open_contexts(in_agent text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1279739202, hashtext(in_agent));
  RETURN (
    SELECT count(*) FROM (
      SELECT DISTINCT owner, context_id FROM legate.open_tasks WHERE agent = in_agent
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
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
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

  INSERT INTO legate.turns (agent, key, task_id, attempt, replica, request)
  VALUES (
    in_agent, in_key, in_task_id, 1,
    CASE WHEN NOT EXISTS (SELECT FROM legate.turns WHERE key = in_key) THEN in_replica END, in_request
  ) RETURNING id, replica IS NOT NULL INTO turn, is_running;
  IF in_message_key IS NOT NULL THEN
    -- The same message, admitted on another replica at this very moment, is a unique violation: the
    -- transaction fails and is tried again, and then finds it.
    INSERT INTO legate.messages (turn, owner, key, digest, task_id, expires_at)
    VALUES (turn, in_owner, in_message_key, in_digest, in_task_id, in_message_expires_at);
  END IF;
  IF in_task IS NOT NULL THEN
    IF legate.is_terminal(in_state) THEN
      INSERT INTO legate.ended_tasks (id, agent, owner, context_id, state, status_time, version)
      VALUES (in_task_id, in_agent, in_owner, in_context_id, in_state, in_now, 1)
      RETURNING number INTO created;
    ELSE
      INSERT INTO legate.open_tasks (id, agent, owner, context_id, state, status_time, version)
      SELECT in_task_id, in_agent, in_owner, in_context_id, in_state, in_now, 1
      WHERE NOT EXISTS (SELECT FROM legate.ended_tasks WHERE id = in_task_id)
      RETURNING number INTO created;
      IF NOT FOUND THEN
        RAISE unique_violation USING
          CONSTRAINT = 'ended_tasks_pkey', MESSAGE = 'a task of this id has ended';
      END IF;
    END IF;
    INSERT INTO legate.event_batches (task, sequence, body)
    VALUES (created, 1, '{"task":' || in_task || '}');
    IF in_push_id IS NOT NULL THEN
      INSERT INTO legate.deliveries (config, sequence, is_head, due_at)
      VALUES (
        legate.put_push(in_task_id, in_push_id, in_push_body, in_push_version), 1, true, in_now
      );
    END IF;
  END IF;
  kind := 'admitted';
END $$;

-- `ORDER BY id + 0` sorts the few turns of one key. `ORDER BY id` would let the planner walk the primary key,
-- with the same rows.
CREATE OR REPLACE FUNCTION legate.start_next(
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
    SELECT id FROM legate.turns WHERE key = in_key ORDER BY id + 0 LIMIT 1
  ) RETURNING id, key, task_id, attempt, request
$$;

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
  had_turn boolean;
  first_key text;
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
      PERFORM pg_advisory_xact_lock(1279739201, hashtext(idle_key));
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
      INSERT INTO legate.event_batches (task, sequence, body)
      VALUES (task.number, last, legate.without_names(
        array_to_string(in_events, E'\n'), in_task_id, task.context_id
      ));
    ELSIF cardinality(in_events) > 16 THEN
      INSERT INTO legate.event_batches (task, sequence, body)
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

  IF ends_task THEN
    WITH gone AS (
      DELETE FROM legate.turns WHERE task_id = in_task_id RETURNING id, key, replica
    )
    SELECT bool_or(id = in_turn AND replica = in_turn_replica), (array_agg(key ORDER BY id))[1]
    INTO had_turn, first_key FROM gone;
    IF in_turn IS NULL THEN
      idle_key := first_key;
    END IF;
  ELSIF ends_turn THEN
    DELETE FROM legate.turns WHERE id = in_turn AND replica = in_turn_replica
    RETURNING true INTO had_turn;
  END IF;
  IF ends_turn AND had_turn IS NOT TRUE THEN
    -- It was taken over between the look above and its lock: the next try sees that.
    RAISE serialization_failure USING MESSAGE = 'the turn was taken over';
  END IF;
  IF idle_key IS NOT NULL THEN
    UPDATE legate.turns SET replica = in_replica
    WHERE replica IS NULL AND id = (
      SELECT id FROM legate.turns WHERE key = idle_key ORDER BY id + 0 LIMIT 1
    ) RETURNING id, key, task_id, attempt, request
    INTO next_turn, next_key, next_task, next_attempt, next_request;
  END IF;
  kind := 'appended';
  is_cancel_requested := task.cancel_requested;
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
    DELETE FROM legate.event_batches USING gone WHERE event_batches.task = gone.number
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
