-- The log, the answers to repeated requests, the secrets, and who is alive. The schemas `log` and `tables` are there.
-- Hashes and keys are bytes; moments are microseconds since 1970 UTC; see crates/store/src/chain.rs for what an event's
-- hash covers. Texts that anyone may write (reasons, keys of requests) are bytes of UTF-8, because `text` takes no NUL.

CREATE TABLE log.schema_version (
    one     boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL CHECK (version > 0)
);

-- Changed by each append: room on its page keeps it there.
CREATE TABLE log.log_head (
    one         boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    log_id      uuid    NOT NULL,
    head        bigint  NOT NULL CHECK (head >= 0),
    head_hash   bytea   NOT NULL CHECK (octet_length(head_hash) = 32),
    recorded_at bigint  NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE log.events (
    "offset"      bigint  NOT NULL PRIMARY KEY,
    event_id      uuid    NOT NULL,
    command_id    uuid    NOT NULL,
    command_index integer NOT NULL,
    command_size  integer NOT NULL,
    type          text    NOT NULL,
    schema        integer NOT NULL,
    recorded_at   bigint  NOT NULL,
    actor_kind    text    NOT NULL,
    actor_id      bytea,
    via           text    NOT NULL,
    request_id    bytea,
    reason        bytea,
    payload       bytea   NOT NULL,
    prev_hash     bytea   NOT NULL,
    hash          bytea   NOT NULL
);

CREATE FUNCTION log.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END
$$;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON log.events
    FOR EACH STATEMENT EXECUTE FUNCTION log.refuse('events are never changed');
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON log.events
    FOR EACH STATEMENT EXECUTE FUNCTION log.refuse('events are never deleted');
CREATE TRIGGER events_are_never_truncated BEFORE TRUNCATE ON log.events
    FOR EACH STATEMENT EXECUTE FUNCTION log.refuse('events are never deleted');
CREATE TRIGGER log_head_is_never_deleted BEFORE DELETE OR TRUNCATE ON log.log_head
    FOR EACH STATEMENT EXECUTE FUNCTION log.refuse('the head is never deleted');
CREATE TRIGGER log_head_never_goes_back BEFORE UPDATE ON log.log_head
    FOR EACH ROW WHEN (NEW.head < OLD.head OR (OLD.head > 0 AND NEW.log_id <> OLD.log_id))
    EXECUTE FUNCTION log.refuse('the head never goes back, nor to another log');

-- Also in sessions that replicate or restore.
ALTER TABLE log.events ENABLE ALWAYS TRIGGER events_are_never_changed;
ALTER TABLE log.events ENABLE ALWAYS TRIGGER events_are_never_deleted;
ALTER TABLE log.events ENABLE ALWAYS TRIGGER events_are_never_truncated;
ALTER TABLE log.log_head ENABLE ALWAYS TRIGGER log_head_is_never_deleted;
ALTER TABLE log.log_head ENABLE ALWAYS TRIGGER log_head_never_goes_back;

CREATE TABLE log.answers (
    caller       bytea   NOT NULL,
    key          bytea   NOT NULL,
    request_hash bytea   NOT NULL CHECK (octet_length(request_hash) = 32),
    command_id   uuid    NOT NULL,
    first        bigint  NOT NULL,
    last         bigint  NOT NULL,
    created      uuid,
    secret       boolean NOT NULL,
    at           bigint  NOT NULL,
    PRIMARY KEY (caller, key)
);

CREATE INDEX answers_by_time ON log.answers (at);

CREATE TABLE log.installation_secrets (
    name  text  NOT NULL PRIMARY KEY CHECK (name IN ('tag_key', 'cursor_key')),
    value bytea NOT NULL CHECK (octet_length(value) = 32)
);

CREATE FUNCTION log.keep_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM log.user_keys) THEN
        RAISE EXCEPTION 'the keys of an installation that has users are never changed';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER keys_stay BEFORE UPDATE ON log.installation_secrets
    FOR EACH ROW EXECUTE FUNCTION log.keep_keys();

-- Apart from the installation's keys, which a server can't remove.
CREATE TABLE log.setup_code (
    one  boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    hash bytea   NOT NULL CHECK (octet_length(hash) = 32)
);

CREATE TABLE log.user_keys (
    user_id uuid  NOT NULL PRIMARY KEY,
    key     bytea NOT NULL CHECK (octet_length(key) = 32)
);

CREATE TABLE log.passwords (
    user_id uuid  NOT NULL PRIMARY KEY,
    hash    text  NOT NULL
);

CREATE TABLE log.credentials (
    hash       bytea  NOT NULL PRIMARY KEY CHECK (octet_length(hash) = 32),
    kind       text   NOT NULL CHECK (kind IN ('session', 'token')),
    id         uuid   NOT NULL UNIQUE,
    user_id    uuid   NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    began      bigint NOT NULL,
    last_used  bigint
);

CREATE INDEX credentials_by_user ON log.credentials (user_id, kind, created_at);
CREATE INDEX credentials_by_end ON log.credentials (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE log.leases (
    server     uuid   NOT NULL PRIMARY KEY,
    build      text   NOT NULL,
    started_at bigint NOT NULL,
    version    bigint NOT NULL,
    knows      text[] NOT NULL,
    expires_at bigint NOT NULL
);
