//! What commands share: how many rows, leave to destroy, moments as people write them, files.

use crate::{
    app::App,
    client::{Client, Rows},
    exit::{Doing, Failure, Outcome},
    output::Shape,
};
use charter_events::Timestamp;
use charter_store::AsOf;
use std::{
    io::Read,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// The largest file or stdin read as a document, in bytes.
const DOCUMENT_BYTES_MAX: u64 = 16 * 1024 * 1024;
const SECOND_MICROS: i64 = 1_000_000;

/// How much of a list.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Limit {
    /// The most rows to print; a note says when there are more
    #[arg(long, default_value_t = 1000, value_name = "ROWS")]
    pub(crate) limit: usize,
}

/// Which past is meant, if any.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Then {
    /// As it was: at an offset of the log, at a time such as 2026-03-01T12:00:00Z, or back from now such as `90m`,
    /// `12h`, `30d`. Takes `core.audit.read`
    #[arg(long, value_name = "OFFSET|TIME", value_parser = version)]
    as_of: Option<AsOf>,
}

impl Then {
    /// The present.
    pub(crate) const NOW: Self = Self { as_of: None };

    /// Whether that is the present.
    pub(crate) const fn is_now(self) -> bool {
        self.as_of.is_none()
    }

    /// The parameter that asks for it.
    pub(crate) fn query(self) -> Vec<(&'static str, String)> {
        self.as_of.map(|as_of| ("as_of", as_of.to_string())).into_iter().collect()
    }
}

/// What of a list, and in which order.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Search {
    /// Only what has this text in one of its names, in any case
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// By `name`, `created` or `changed`; groups and roles by `slug` too, objects by `type`. `-` before it: the
    /// largest first
    #[arg(long, value_name = "ORDER", allow_hyphen_values = true)]
    sort: Option<String>,
}

impl Search {
    /// The parameters that ask for it.
    pub(crate) fn query(self) -> Vec<(&'static str, String)> {
        let search = self.search.map(|text| ("q", text));
        search.into_iter().chain(self.sort.map(|order| ("sort", order))).collect()
    }
}

/// Leave to destroy.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Yes {
    /// Do it without being asked
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Reads a list and prints it.
pub(crate) async fn list(
    app: &App,
    client: &Client,
    path: &str,
    query: &[(&str, String)],
    (limit, shape): (Limit, &Shape),
) -> Outcome<()> {
    let Rows { rows, more } = client.list(path, query, limit.limit).await?;
    app.out.rows(shape, &rows)?;
    if more {
        app.out.note(&format!("There are more than these {}: `--limit` shows more.", limit.limit));
    }
    Ok(())
}

/// The moment it is.
pub(crate) fn now() -> Timestamp {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros());
    Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX)).unwrap_or(Timestamp::MAX)
}

/// A moment as people write it: RFC 3339, or a time from now such as `90m`, `12h`, `30d`.
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
    moment_from(text, now())
}

/// A moment as people write one that is past: RFC 3339, or a time back from now such as `90m`, `12h`, `30d`.
pub(crate) fn moment_before(text: &str) -> Result<Timestamp, String> {
    before(text, now())
}

/// A version of the log: an offset, a moment, or a span before now.
pub(crate) fn version(text: &str) -> Result<AsOf, String> {
    text.parse().or_else(|_| moment_before(text).map(AsOf::Time)).map_err(|_| {
        format!(
            "`{text}` is no offset, no time such as 2026-03-01T12:00:00Z, no span such as 90m, 12h or 30d"
        )
    })
}

fn before(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if text.parse::<Timestamp>().is_ok() {
        return moment_from(text, now);
    }
    let span = moment_from(text, now)?.as_micros().saturating_sub(now.as_micros());
    Ok(now.saturating_add_micros(-span))
}

fn moment_from(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let unit = |unit: char| match unit {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3_600),
        'd' => Some(86_400),
        'w' => Some(604_800),
        _ => None,
    };
    let relative = text.char_indices().last().and_then(|(at, last)| {
        let count: i64 = text.get(..at)?.parse().ok().filter(|c| *c >= 0)?;
        count.checked_mul(unit(last)?)?.checked_mul(SECOND_MICROS)
    });
    match relative {
        Some(micros) => Ok(now.saturating_add_micros(micros)),
        None => text.parse().map_err(|_| {
            format!(
                "`{text}` is neither a time such as 2026-03-01T12:00:00Z nor a span such as 90m, 12h or 30d"
            )
        }),
    }
}

/// The text of a document in a file, or of stdin when it is called `-`.
pub(crate) fn document(path: &Path) -> Outcome<Vec<u8>> {
    read_bounded(path, DOCUMENT_BYTES_MAX)
}

/// The bytes of a file, or of stdin when it is called `-`; a usage error when there are too many.
pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> Outcome<Vec<u8>> {
    let what = format!("read `{}`", path.display());
    let mut bytes = Vec::new();
    let length = if path == Path::new("-") {
        std::io::stdin().lock().take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|f| f.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes))
    };
    if length.doing(&what)? as u64 > bytes_max {
        return Err(Failure::usage(format!("`{}` is larger than {bytes_max} bytes", path.display())));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_absolute_or_from_now() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("90m", "2026-03-01T13:30:00Z"),
            ("12h", "2026-03-02T00:00:00Z"),
            ("30d", "2026-03-31T12:00:00Z"),
            ("0s", "2026-03-01T12:00:00Z"),
            ("2027-01-01T00:00:00+01:00", "2026-12-31T23:00:00Z"),
        ] {
            assert_eq!(moment_from(text, now).unwrap().to_string(), expected, "{text}");
        }
        for (text, expected) in
            [("90m", "2026-03-01T10:30:00Z"), ("2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z")]
        {
            assert_eq!(before(text, now).unwrap().to_string(), expected, "{text}");
        }
        for text in ["", "m", "-5m", "5y", "tomorrow", "2026-03-01", "99999999999999999999d"] {
            assert!(moment_from(text, now).is_err(), "{text}");
        }
    }
}
