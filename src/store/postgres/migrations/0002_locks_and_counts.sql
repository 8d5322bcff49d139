-- Locks are taken in this order: keys of turns, agents, rows of tasks, rows of turns, rows of push
-- configurations, records. Whoever holds several of one kind took them in ascending order.

-- The lock of a key orders admissions and ends of turns of that key, over all replicas.
CREATE FUNCTION legate.lock_keys(in_keys text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  place integer;
BEGIN
  FOR place IN SELECT DISTINCT hashtext(key) FROM unnest(in_keys) AS key ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(1279739201, place);
  END LOOP;
END $$;

-- The keys of several operations that share a transaction, taken before the first of them begins.
CREATE FUNCTION legate.lock_all(in_keys text[], in_turns bigint[], in_task_ids text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM legate.lock_keys(
    in_keys
    || ARRAY(SELECT key FROM legate.turns WHERE id = ANY (in_turns))
    || ARRAY(SELECT key FROM legate.turns WHERE task_id = ANY (in_task_ids))
  );
END $$;

CREATE FUNCTION legate.count_ended(in_owner text, in_state smallint, in_change integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO legate.task_counts AS counts (owner, state, slot, tasks)
  VALUES (in_owner, in_state, pg_backend_pid() % 16, in_change)
  ON CONFLICT (owner, state, slot) DO UPDATE SET tasks = counts.tasks + excluded.tasks;
END $$;

-- An owner whose tasks are gone needs no counts. What others add meanwhile stays: they wait for the
-- rows that go, and then begin anew.
CREATE FUNCTION legate.forget_owner(in_owner text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT sum(tasks) FROM legate.task_counts WHERE owner = in_owner) = 0 THEN
    WITH gone AS (
      DELETE FROM legate.task_counts WHERE owner = in_owner RETURNING state, tasks
    )
    INSERT INTO legate.task_counts AS counts (owner, state, slot, tasks)
    SELECT in_owner, gone.state, -1, sum(gone.tasks) FROM gone
    GROUP BY gone.state HAVING sum(gone.tasks) <> 0
    ON CONFLICT (owner, state, slot) DO UPDATE SET tasks = counts.tasks + excluded.tasks;
  END IF;
END $$;

-- How many contexts of an agent have unfinished tasks. Whoever asks holds the agent until the end of
-- the transaction, so that the answer stays true.
CREATE FUNCTION legate.open_contexts(in_agent text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1279739202, hashtext(in_agent));
  RETURN (
    SELECT count(*) FROM (
      SELECT DISTINCT owner, context_id FROM legate.tasks
      WHERE agent = in_agent AND state NOT IN (3, 4, 5, 7)
    ) AS contexts
  );
END $$;
