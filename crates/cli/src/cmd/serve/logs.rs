//! What a server records of itself: its log on stderr, and the figures for `/metrics`.

use crate::exit::{Doing, Failure, Outcome};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// How often old measurements are folded together.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON value a line
    Json,
}

/// Records what is measured, and keeps what it holds bounded.
pub(super) fn metrics() -> Outcome<PrometheusHandle> {
    let handle = PrometheusBuilder::new().install_recorder().doing("record metrics")?;
    let kept = handle.clone();
    tokio::spawn(async move {
        let mut every = tokio::time::interval(METRICS_UPKEEP);
        loop {
            every.tick().await;
            kept.run_upkeep();
        }
    });
    Ok(handle)
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
