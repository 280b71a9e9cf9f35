-- The key that signs checkpoints of the log: an Ed25519 seed, made when the store is next opened by a server. A table
-- of its own, so that the installation's other keys stay as they are.

CREATE TABLE signing_key (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    key BLOB    NOT NULL CHECK (length(key) = 32)
) STRICT;
