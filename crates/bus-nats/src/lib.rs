//! Publishes the log on NATS JetStream, and reads it there without missing an event.
