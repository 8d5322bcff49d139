-- What the numbers of states mean, for people who read the file. The same in every database.
CREATE TABLE task_states (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  is_terminal INTEGER NOT NULL
) STRICT;
INSERT INTO task_states VALUES
  (0, 'TASK_STATE_UNSPECIFIED', 0),
  (1, 'TASK_STATE_SUBMITTED', 0),
  (2, 'TASK_STATE_WORKING', 0),
  (3, 'TASK_STATE_COMPLETED', 1),
  (4, 'TASK_STATE_FAILED', 1),
  (5, 'TASK_STATE_CANCELED', 1),
  (6, 'TASK_STATE_INPUT_REQUIRED', 0),
  (7, 'TASK_STATE_REJECTED', 1),
  (8, 'TASK_STATE_AUTH_REQUIRED', 0);
