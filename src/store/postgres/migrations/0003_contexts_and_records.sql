CREATE FUNCTION legate.write_context(in_owner text, in_context_id text, in_value text, in_log text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  context bigint;
  total integer;
  added integer := cardinality(in_log);
BEGIN
  INSERT INTO legate.contexts AS contexts (owner, context_id, value, log_length)
  VALUES (in_owner, in_context_id, in_value, added)
  ON CONFLICT (owner, context_id) DO UPDATE
  SET value = coalesce(excluded.value, contexts.value),
      log_length = contexts.log_length + excluded.log_length
  RETURNING contexts.number, contexts.log_length INTO context, total;
  IF added > 0 THEN
    INSERT INTO legate.context_log (context, sequence, body)
    SELECT context, total - added + entry.place, entry.body
    FROM unnest(in_log) WITH ORDINALITY AS entry (body, place);
  END IF;
END $$;

CREATE FUNCTION legate.lock_records(in_spaces text[], in_keys text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  place integer;
BEGIN
  FOR place IN
    SELECT DISTINCT hashtext(space || ' ' || key)
    FROM unnest(in_spaces, in_keys) AS record (space, key) ORDER BY 1
  LOOP
    PERFORM pg_advisory_xact_lock(1279739203, place);
  END LOOP;
END $$;

-- All of the writes, or none when an expected version does not hold. Without a value: deletes.
CREATE FUNCTION legate.write_records(
  in_spaces text[],
  in_keys text[],
  in_values text[],
  in_expiries bigint[],
  in_versions bigint[],
  in_now bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM legate.lock_records(in_spaces, in_keys);
  FOR index IN 1 .. cardinality(in_keys) LOOP
    IF in_versions[index] <> coalesce((
      SELECT version FROM legate.records
      WHERE space = in_spaces[index] AND key = in_keys[index]
        AND (expires_at IS NULL OR expires_at > in_now)
    ), 0) THEN
      RETURN false;
    END IF;
  END LOOP;
  FOR index IN 1 .. cardinality(in_keys) LOOP
    IF in_values[index] IS NULL THEN
      DELETE FROM legate.records WHERE space = in_spaces[index] AND key = in_keys[index];
    ELSE
      INSERT INTO legate.records AS records (space, key, value, version, expires_at, updated_at)
      VALUES (in_spaces[index], in_keys[index], in_values[index], 1, in_expiries[index], in_now)
      ON CONFLICT (space, key) DO UPDATE
      SET value = excluded.value,
          version = CASE WHEN records.expires_at <= in_now THEN 1 ELSE records.version + 1 END,
          expires_at = excluded.expires_at,
          updated_at = excluded.updated_at;
    END IF;
  END LOOP;
  RETURN true;
END $$;

-- Undefined (null) when the record holds no number.
CREATE FUNCTION legate.increment(
  in_space text,
  in_key text,
  in_change double precision,
  in_expires_at bigint,
  in_now bigint
) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
  present record;
  total double precision := in_change;
BEGIN
  PERFORM legate.lock_records(ARRAY[in_space], ARRAY[in_key]);
  SELECT value, version, expires_at INTO present FROM legate.records
  WHERE space = in_space AND key = in_key AND (expires_at IS NULL OR expires_at > in_now);
  IF NOT FOUND THEN
    INSERT INTO legate.records AS records (space, key, value, version, expires_at, updated_at)
    VALUES (in_space, in_key, to_json(total), 1, in_expires_at, in_now)
    ON CONFLICT (space, key) DO UPDATE
    SET value = excluded.value, version = 1,
        expires_at = excluded.expires_at, updated_at = excluded.updated_at;
    RETURN total;
  END IF;
  IF json_typeof(present.value::json) <> 'number' THEN
    RETURN NULL;
  END IF;
  total := present.value::double precision + in_change;
  UPDATE legate.records
  SET value = to_json(total), version = present.version + 1,
      expires_at = coalesce(present.expires_at, in_expires_at), updated_at = in_now
  WHERE space = in_space AND key = in_key;
  RETURN total;
END $$;
