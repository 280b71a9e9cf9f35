//! Moments, in microseconds UTC since 1970. Text is RFC 3339 at the edges; nothing here reads a clock.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment: whole microseconds since 1970-01-01T00:00:00Z, from year 1 to year 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// The text is no RFC 3339 moment within the years 1 to 9999, or is finer than a microsecond.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 time with at most six decimals, in the years 1 to 9999")]
pub struct InvalidTimestamp(String);

impl Timestamp {
    /// 9999-12-31T23:59:59.999999Z, the last moment there is.
    pub const MAX: Self = Self(253_402_300_799_999_999);
    /// 0001-01-01T00:00:00Z, the first.
    pub const MIN: Self = Self(-62_135_596_800_000_000);

    /// The moment this many microseconds after 1970; `None` outside the years 1 to 9999.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if micros < Self::MIN.0 || micros > Self::MAX.0 { None } else { Some(Self(micros)) }
    }

    /// Microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The moment this much later; the last moment there is when that lies beyond it.
    pub const fn saturating_add_micros(self, micros: i64) -> Self {
        let sum = self.0.saturating_add(micros);
        if sum > Self::MAX.0 {
            Self::MAX
        } else if sum < Self::MIN.0 {
            Self::MIN
        } else {
            Self(sum)
        }
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match DateTime::<Utc>::from_timestamp_micros(self.0) {
            Some(moment) => f.write_str(&moment.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
            None => write!(f, "{}us", self.0),
        }
    }
}

impl std::str::FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidTimestamp(text.chars().take(64).collect());
        let moment = DateTime::parse_from_rfc3339(text).map_err(|_| invalid())?;
        if moment.timestamp_subsec_nanos() % 1_000 != 0 {
            return Err(invalid());
        }
        Self::from_micros(moment.timestamp_micros()).ok_or_else(invalid)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_i64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            crate::text::from_text(deserializer)
        } else {
            let micros = i64::deserialize(deserializer)?;
            Self::from_micros(micros).ok_or_else(|| de::Error::custom("a time outside the years 1 to 9999"))
        }
    }
}

crate::text::string_schema!(Timestamp, "date-time", r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_microseconds_agree() {
        for (text, shown) in [
            ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
            ("2026-03-01T12:00:00.000001Z", "2026-03-01T12:00:00.000001Z"),
            ("2026-03-01T14:00:00.5+02:00", "2026-03-01T12:00:00.500Z"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ] {
            let moment: Timestamp = text.parse().unwrap();
            assert_eq!(moment.to_string(), shown);
            assert_eq!(shown.parse::<Timestamp>().unwrap(), moment);
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "now",
            "2026-03-01",
            "2026-03-01T12:00:00",
            "2026-02-30T00:00:00Z",
            "2026-03-01T12:00:00.0000001Z",
            "10000-01-01T00:00:00Z",
            "-1",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_of_any_size_is_no_moment_and_refused_in_few_words() {
        for unit in ["1", "2026-03-01T12:00:00Z", ".", "\u{e9}", " "] {
            for beginning in ["", "2026-03-01T12:00:00.", "2026-03-01T12:00:00+"] {
                for size in std::iter::successors(Some(16_usize), |size| Some(size * 2)).take(17) {
                    let text = format!("{beginning}{}", unit.repeat(size));
                    let said = text.parse::<Timestamp>().unwrap_err().to_string();
                    assert!(said.len() < 256, "{said}");
                }
            }
        }
    }
}
