-- What replicas of former versions read. The names of a task and its context come from the text of its first
-- event: functions of JSON refuse a NUL and half of a surrogate pair, which a user may have written there. Only
-- text that starts otherwise is read as JSON.
CREATE OR REPLACE FUNCTION legate.with_names(in_body text, in_task bigint)
RETURNS text LANGUAGE sql STABLE AS $$
  SELECT replace(
    replace(in_body, E'\x01', '"taskId":' || coalesce(names[1], (body::json #> '{task,id}')::text)),
    E'\x02', '"contextId":' || coalesce(names[2], (body::json #> '{task,contextId}')::text)
  )
  FROM legate.event_batches
  LEFT JOIN LATERAL regexp_match(
    body, '^\{"task":\{"id":("(?:[^"\\]|\\.)*"),"contextId":("(?:[^"\\]|\\.)*")'
  ) AS names ON true
  WHERE task = in_task AND sequence = 1
$$;
