-- Registers a configuration with a task. The caller holds the row of the task.
CREATE FUNCTION legate.put_push(in_task_id text, in_id text, in_body text, in_wire_version text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  config bigint;
BEGIN
  INSERT INTO legate.push_configs AS configs (task_id, id, body, wire_version)
  VALUES (in_task_id, in_id, in_body, in_wire_version)
  ON CONFLICT (task_id, id) DO UPDATE
  SET body = excluded.body, wire_version = excluded.wire_version
  RETURNING configs.number INTO config;
  UPDATE legate.tasks SET push_configs = (
    SELECT count(*) FROM legate.push_configs WHERE task_id = in_task_id
  ) WHERE id = in_task_id;
  RETURN config;
END $$;

-- Writes down that events are owed to each configuration of a task; false when none is. The caller
-- holds the row of the task.
CREATE FUNCTION legate.owe(
  in_task_id text,
  in_version integer,
  in_is_told boolean[],
  in_now bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM legate.push_configs WHERE task_id = in_task_id ORDER BY number FOR UPDATE;
  INSERT INTO legate.deliveries (config, sequence, is_head, due_at)
  SELECT configs.number, in_version + event.place,
    row_number() OVER (PARTITION BY configs.number ORDER BY event.place) = 1 AND NOT EXISTS (
      SELECT FROM legate.deliveries AS pending
      WHERE pending.config = configs.number AND NOT pending.is_dead
    ), in_now
  FROM unnest(in_is_told) WITH ORDINALITY AS event (is_told, place)
  CROSS JOIN legate.push_configs AS configs
  WHERE event.is_told AND configs.task_id = in_task_id
  ORDER BY event.place, configs.number;
  RETURN FOUND;
END $$;

-- Makes the oldest pending delivery of a configuration its head. The caller holds the configuration.
CREATE FUNCTION legate.promote(in_config bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE legate.deliveries SET is_head = false
  WHERE config = in_config AND NOT is_dead AND is_head;
  UPDATE legate.deliveries SET is_head = true WHERE id = (
    SELECT id FROM legate.deliveries WHERE config = in_config AND NOT is_dead ORDER BY id LIMIT 1
  );
END $$;

-- The configuration of a delivery, held; null when the delivery is gone.
CREATE FUNCTION legate.hold_delivery(in_delivery bigint) RETURNS bigint LANGUAGE sql AS $$
  SELECT number FROM legate.push_configs WHERE number = (
    SELECT config FROM legate.deliveries WHERE id = in_delivery
  ) FOR UPDATE
$$;

CREATE FUNCTION legate.settle(in_delivery bigint, in_outcome text, in_due_at bigint, in_error text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  config bigint := legate.hold_delivery(in_delivery);
BEGIN
  IF config IS NULL THEN
    RETURN;
  END IF;
  IF in_outcome = 'delivered' THEN
    DELETE FROM legate.deliveries WHERE id = in_delivery;
  ELSIF in_outcome = 'retry' THEN
    UPDATE legate.deliveries
    SET attempts = attempts + 1, due_at = in_due_at, last_error = in_error, claimed_by = NULL
    WHERE id = in_delivery AND NOT is_dead;
    RETURN;
  ELSE
    UPDATE legate.deliveries
    SET attempts = attempts + 1, is_dead = true, is_head = false, last_error = in_error,
        claimed_by = NULL
    WHERE id = in_delivery AND NOT is_dead;
  END IF;
  PERFORM legate.promote(config);
END $$;

CREATE FUNCTION legate.revive(in_delivery bigint, in_now bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  config bigint := legate.hold_delivery(in_delivery);
BEGIN
  UPDATE legate.deliveries SET is_dead = false, attempts = 0, due_at = in_now
  WHERE id = in_delivery AND is_dead;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM legate.promote(config);
  RETURN true;
END $$;

-- False when there is no such task.
CREATE FUNCTION legate.put_push_of(in_task_id text, in_id text, in_body text, in_wire_version text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM legate.tasks WHERE id = in_task_id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM legate.put_push(in_task_id, in_id, in_body, in_wire_version);
  RETURN true;
END $$;

-- False when there was none.
CREATE FUNCTION legate.delete_push(in_task_id text, in_id text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  gone bigint;
BEGIN
  PERFORM FROM legate.tasks WHERE id = in_task_id FOR UPDATE;
  DELETE FROM legate.push_configs WHERE task_id = in_task_id AND id = in_id
  RETURNING number INTO gone;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  DELETE FROM legate.deliveries WHERE config = gone;
  UPDATE legate.tasks SET push_configs = push_configs - 1 WHERE id = in_task_id;
  RETURN true;
END $$;
