//! Decisions in another process: a policy fed by the log.
