-- Embeddings of texts: 32-bit floats in the byte order of the machine, of length 1.
CREATE TABLE vectors (
  space TEXT NOT NULL,
  owner TEXT NOT NULL,
  model TEXT NOT NULL,
  key TEXT NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (space, owner, model, key)
) STRICT;
