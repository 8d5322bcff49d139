-- Messages are found by an index of their own: the keys that were kept in memory are gone.
DROP TABLE message_keys;
DROP TABLE message_keys_until;
CREATE UNIQUE INDEX messages_by_key ON messages (owner, key);
