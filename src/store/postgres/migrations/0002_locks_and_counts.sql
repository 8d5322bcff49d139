-- Locks are taken in this order: keys of turns, agents, rows of turns, rows of tasks, rows of push
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

CREATE FUNCTION legate.count_tasks(in_owner text, in_state smallint, in_change integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO legate.task_counts AS counts (owner, state, slot, tasks)
  VALUES (in_owner, in_state, pg_backend_pid() % 16, in_change)
  ON CONFLICT (owner, state, slot) DO UPDATE SET tasks = counts.tasks + excluded.tasks;
END $$;

CREATE FUNCTION legate.count_contexts(in_agent text, in_change integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO legate.context_counts AS counts (agent, slot, contexts)
  VALUES (in_agent, pg_backend_pid() % 16, in_change)
  ON CONFLICT (agent, slot) DO UPDATE SET contexts = counts.contexts + excluded.contexts;
END $$;

CREATE FUNCTION legate.open_task(in_agent text, in_owner text, in_context_id text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  open_tasks integer;
BEGIN
  INSERT INTO legate.open_contexts AS contexts (owner, context_id, agent, tasks)
  VALUES (in_owner, in_context_id, in_agent, 1)
  ON CONFLICT (owner, context_id) DO UPDATE SET tasks = contexts.tasks + 1
  RETURNING contexts.tasks INTO open_tasks;
  IF open_tasks = 1 THEN
    PERFORM legate.count_contexts(in_agent, 1);
  END IF;
END $$;

CREATE FUNCTION legate.close_task(in_owner text, in_context_id text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  freed text;
BEGIN
  DELETE FROM legate.open_contexts
  WHERE owner = in_owner AND context_id = in_context_id AND tasks = 1
  RETURNING agent INTO freed;
  IF FOUND THEN
    PERFORM legate.count_contexts(freed, -1);
  ELSE
    UPDATE legate.open_contexts SET tasks = tasks - 1
    WHERE owner = in_owner AND context_id = in_context_id;
  END IF;
END $$;

-- Whether a new task would open one context too many. Far from the limit nobody waits; near it
-- admissions of the agent go one after the other, so that the count is exact.
CREATE FUNCTION legate.is_full(in_agent text, in_owner text, in_context_id text, in_limit integer)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  contexts bigint;
BEGIN
  SELECT sum(counts.contexts) INTO contexts FROM legate.context_counts AS counts
  WHERE counts.agent = in_agent;
  IF coalesce(contexts, 0) < in_limit - 1000 THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(1279739202, hashtext(in_agent));
  SELECT sum(counts.contexts) INTO contexts FROM legate.context_counts AS counts
  WHERE counts.agent = in_agent;
  RETURN coalesce(contexts, 0) >= in_limit AND NOT EXISTS (
    SELECT FROM legate.open_contexts WHERE owner = in_owner AND context_id = in_context_id
  );
END $$;
