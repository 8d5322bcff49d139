-- What the numbers of states mean, for people who read the database. The same in every database.
CREATE TABLE legate.task_states (
  number smallint PRIMARY KEY,
  name text NOT NULL UNIQUE,
  is_terminal boolean NOT NULL
);
INSERT INTO legate.task_states VALUES
  (0, 'TASK_STATE_UNSPECIFIED', false),
  (1, 'TASK_STATE_SUBMITTED', false),
  (2, 'TASK_STATE_WORKING', false),
  (3, 'TASK_STATE_COMPLETED', true),
  (4, 'TASK_STATE_FAILED', true),
  (5, 'TASK_STATE_CANCELED', true),
  (6, 'TASK_STATE_INPUT_REQUIRED', false),
  (7, 'TASK_STATE_REJECTED', true),
  (8, 'TASK_STATE_AUTH_REQUIRED', false);
