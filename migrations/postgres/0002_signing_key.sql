-- The key that signs checkpoints of the log: an Ed25519 seed, made with this migration. A table of its own, so that the
-- installation's other keys stay as they are.

CREATE TABLE log.signing_key (
    one boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    key bytea   NOT NULL CHECK (octet_length(key) = 32)
);

CREATE TRIGGER signing_key_stays BEFORE UPDATE ON log.signing_key
    FOR EACH ROW EXECUTE FUNCTION log.keep_keys();
