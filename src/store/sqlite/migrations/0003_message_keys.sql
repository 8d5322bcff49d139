-- Messages by a number made of their owner and key. Those of recent messages are kept in memory and
-- come in here a part of the tree at a time: keys are random, and each by itself would rewrite a page.
CREATE TABLE message_keys (
  number INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY (number, turn)
) STRICT, WITHOUT ROWID;

-- The messages of all turns up to this one are in `message_keys`.
CREATE TABLE message_keys_until (turn INTEGER NOT NULL) STRICT;
INSERT INTO message_keys_until VALUES (0);

-- The same table without its unique key.
ALTER TABLE messages RENAME TO messages_before;
CREATE TABLE messages (
  turn INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  task_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  reply TEXT
) STRICT;
INSERT INTO messages SELECT turn, owner, key, digest, task_id, expires_at, reply FROM messages_before;
DROP TABLE messages_before;
CREATE INDEX messages_by_expiry ON messages (expires_at);
