-- Embeddings of texts, of length 1. An array, which the extension pgvector casts to its own type where it
-- is installed: it may come and go.
CREATE TABLE legate.vectors (
  space text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  vector real[] NOT NULL,
  PRIMARY KEY (space, owner, model, key)
);
