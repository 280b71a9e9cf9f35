-- The log, the answers to repeated requests, and the secrets.
-- Ids, hashes and keys are bytes; moments are microseconds since 1970 UTC; see crates/store/src/chain.rs for what an
-- event's hash covers.

CREATE TABLE log_head (
    one         INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    log_id      BLOB    NOT NULL CHECK (length(log_id) = 16),
    head        INTEGER NOT NULL CHECK (head >= 0),
    head_hash   BLOB    NOT NULL CHECK (length(head_hash) = 32),
    recorded_at INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
    "offset"      INTEGER NOT NULL PRIMARY KEY,
    event_id      BLOB    NOT NULL,
    command_id    BLOB    NOT NULL,
    command_index INTEGER NOT NULL,
    command_size  INTEGER NOT NULL,
    type          TEXT    NOT NULL,
    schema        INTEGER NOT NULL,
    recorded_at   INTEGER NOT NULL,
    actor_kind    TEXT    NOT NULL,
    actor_id      BLOB,
    via           TEXT    NOT NULL,
    request_id    TEXT,
    reason        TEXT,
    payload       BLOB    NOT NULL,
    prev_hash     BLOB    NOT NULL,
    hash          BLOB    NOT NULL
) STRICT;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'events are never deleted');
END;

CREATE TRIGGER log_head_is_never_deleted BEFORE DELETE ON log_head
BEGIN
    SELECT RAISE(ABORT, 'the head is never deleted');
END;

CREATE TABLE answers (
    caller       TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    request_hash BLOB    NOT NULL CHECK (length(request_hash) = 32),
    command_id   BLOB    NOT NULL CHECK (length(command_id) = 16),
    first        INTEGER NOT NULL,
    last         INTEGER NOT NULL,
    created      BLOB,
    secret       INTEGER NOT NULL CHECK (secret IN (0, 1)),
    at           INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX answers_by_time ON answers (at);

CREATE TABLE installation_secrets (
    name  TEXT NOT NULL PRIMARY KEY CHECK (name IN ('tag_key', 'cursor_key', 'setup_code_hash')),
    value BLOB NOT NULL CHECK (length(value) = 32)
) STRICT, WITHOUT ROWID;

CREATE TABLE user_keys (
    user_id BLOB NOT NULL PRIMARY KEY CHECK (length(user_id) = 16),
    key     BLOB NOT NULL CHECK (length(key) = 32)
) STRICT, WITHOUT ROWID;

CREATE TABLE passwords (
    user_id BLOB NOT NULL PRIMARY KEY CHECK (length(user_id) = 16),
    hash    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE credentials (
    hash       BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    kind       TEXT    NOT NULL CHECK (kind IN ('session', 'token')),
    id         BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    user_id    BLOB    NOT NULL CHECK (length(user_id) = 16),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    began      INTEGER NOT NULL,
    last_used  INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX credentials_by_user ON credentials (user_id, kind, created_at);
CREATE INDEX credentials_by_end ON credentials (expires_at) WHERE expires_at IS NOT NULL;
