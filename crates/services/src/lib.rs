//! Throw-away PostgreSQL and NATS servers on loopback, for people and tests.
