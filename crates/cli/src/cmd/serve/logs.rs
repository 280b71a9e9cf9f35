//! What a server says of itself: logs, on stderr, and the spans that traces are made of. Neither has anything of the
//! other.

use crate::exit::{Failure, Outcome};
use charter_control::TRACES;
use opentelemetry_sdk::trace::SdkTracer;
use tracing_subscriber::{
    EnvFilter, Layer, Registry, filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt,
};

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
    EnvFilter::try_new(format!("{QUIETED},{directives},{TRACES}=off"))
        .map_err(|error| Failure::usage(format!("`{directives}` says not what to log: {error}")))
}

/// Writes logs from here on, and makes spans where there is somebody to make them for.
pub(super) fn start_logs(format: LogFormat, directives: &str, tracer: Option<SdkTracer>) -> Outcome<()> {
    let filter = filter(directives)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => lines.with_ansi(crate::output::colour_on_stderr()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let mut layers = vec![lines.with_filter(filter).boxed()];
    if let Some(tracer) = tracer {
        let spans = tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_context_activation(false)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_level(false)
            .with_target(false);
        layers.push(spans.with_filter(filter_fn(|metadata| metadata.target() == TRACES)).boxed());
    }
    tracing_subscriber::registry().with(layers).init();
    Ok(())
}
