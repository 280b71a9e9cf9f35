//! Every bound of the ports, in one place, the unit in the name.

/// The most events one page holds, whatever was asked for.
pub const READ_EVENTS_MAX: usize = 10_000;
/// The most hashes one page holds, whatever was asked for.
pub const READ_HASHES_MAX: usize = 65_536;
/// A page ends after the event whose payload takes it past this many bytes.
pub const READ_PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most events one command may become.
pub const COMMAND_EVENTS_MAX: usize = 1_000_000;
/// The most events one call of [`Append::write`](crate::Append::write) takes.
pub const BATCH_EVENTS_MAX: usize = 1_100_000;
/// The most answers one call of [`Append::write`](crate::Append::write) takes.
pub const BATCH_ANSWERS_MAX: usize = 10_000;
/// The most changes of secrets one call takes.
pub const SECRET_WRITES_MAX: usize = 10_000;
/// The longest part of an idempotency key, in bytes.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// The longest name of an event type, in bytes.
pub const TYPE_NAME_BYTES_MAX: usize = 128;
/// The longest password hash (a PHC string), in bytes.
pub const PASSWORD_HASH_BYTES_MAX: usize = 512;
/// The most rows one call that forgets old rows removes; it is called again while it removes that many.
pub const FORGET_ROWS_MAX: usize = 10_000;
/// The most sessions of a user that are listed, newest first.
pub const SESSIONS_LISTED_MAX: usize = 1_000;
/// How many snapshots are kept; older ones are removed.
pub const SNAPSHOTS_KEPT: usize = 2;
/// The largest body of a snapshot, in bytes.
pub const SNAPSHOT_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// How many of the last events a store checks when it is opened.
pub const TAIL_EVENTS: u64 = 100;
