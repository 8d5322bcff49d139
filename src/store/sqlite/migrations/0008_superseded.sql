-- 9: input-required, but a later task of its context has taken the conversation over. For retention
-- such a task has ended: the states that are swept are 3, 4, 5, 7 and 9.
INSERT INTO task_states VALUES (9, 'TASK_STATE_INPUT_REQUIRED, superseded', 0);
DROP INDEX tasks_over;
CREATE INDEX tasks_over ON tasks (status_time) WHERE state >= 3 AND state <> 6 AND state <> 8;
