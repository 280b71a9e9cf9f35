-- Links that are sent to people and work once: by one an invitation is accepted, by the other a forgotten password is
-- replaced. They are kept as sessions and tokens are, under kinds of their own. SQLite changes no check in place: the
-- table is made anew with the same rows.

CREATE TABLE credentials_3 (
    hash       BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    kind       TEXT    NOT NULL CHECK (kind IN ('session', 'token', 'invitation', 'reset')),
    id         BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    user_id    BLOB    NOT NULL CHECK (length(user_id) = 16),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    began      INTEGER NOT NULL,
    last_used  INTEGER
) STRICT, WITHOUT ROWID;

INSERT INTO credentials_3 (hash, kind, id, user_id, created_at, expires_at, began, last_used)
    SELECT hash, kind, id, user_id, created_at, expires_at, began, last_used FROM credentials;

DROP TABLE credentials;
ALTER TABLE credentials_3 RENAME TO credentials;

CREATE INDEX credentials_by_user ON credentials (user_id, kind, created_at);
CREATE INDEX credentials_by_end ON credentials (expires_at) WHERE expires_at IS NOT NULL;
