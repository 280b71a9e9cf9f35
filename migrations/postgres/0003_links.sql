-- Links that are sent to people and work once: by one an invitation is accepted, by the other a forgotten password is
-- replaced. They are kept as sessions and tokens are, under kinds of their own.

ALTER TABLE log.credentials DROP CONSTRAINT credentials_kind_check;
ALTER TABLE log.credentials ADD CONSTRAINT credentials_kind_check
    CHECK (kind IN ('session', 'token', 'invitation', 'reset'));
