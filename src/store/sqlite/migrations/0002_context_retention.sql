-- Until when a context counts as written: the end of the hour of its last write. Whole hours, so that
-- most writes leave the index alone. Null: never swept. Contexts that are there were written now.
ALTER TABLE contexts ADD COLUMN written_until INTEGER;
UPDATE contexts SET written_until = unixepoch() * 1000;
CREATE INDEX contexts_by_time ON contexts (written_until);
