//! What a server says of itself, on stderr.

use crate::exit::{Failure, Outcome};
use tracing_subscriber::EnvFilter;

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON value a line
    Json,
}

/// What the NATS client says of each connection, the bus says better; unless it is asked for.
const QUIETED: &str = "async_nats=warn";

/// What is logged.
pub(super) fn filter(directives: &str) -> Outcome<EnvFilter> {
    EnvFilter::try_new(format!("{QUIETED},{directives}"))
        .map_err(|error| Failure::usage(format!("`{directives}` says not what to log: {error}")))
}

/// Writes logs from here on.
pub(super) fn start_logs(format: LogFormat, directives: &str) -> Outcome<()> {
    let filter = filter(directives)?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => logs.with_ansi(crate::output::colour_on_stderr()).init(),
        LogFormat::Json => logs.json().flatten_event(true).init(),
    }
    Ok(())
}
