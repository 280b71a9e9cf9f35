//! Moments as tests write them. Reads no clock.

use charter_events::Timestamp;

/// The moment histories begin at, and scenarios ask at, unless they say otherwise.
pub const START: &str = "2026-01-01T00:00:00Z";

/// The moment an RFC 3339 text names.
///
/// # Panics
/// When the text names none.
pub fn at(text: &str) -> Timestamp {
    text.parse().expect("a test's time is RFC 3339")
}

/// The moment so many microseconds later, or earlier.
pub fn later(moment: Timestamp, micros: i64) -> Timestamp {
    moment.saturating_add_micros(micros)
}
