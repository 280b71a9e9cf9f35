//! What a server says of itself: logs, on stderr, and the spans that traces are made of. Neither has anything of the
//! other.

use crate::exit::{Failure, Outcome};
use charter_control::TRACES;
use opentelemetry_sdk::trace::SdkTracer;
use std::panic;
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
    tell_panics();
    Ok(())
}

/// Has a panic told by its place alone: what it says may repeat what it was about, a password or a name among it.
fn tell_panics() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        tracing::error!(place, thread = thread.name(), "the program panicked: this is a mistake in it");
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_is_told_by_its_place_and_not_by_what_it_was_about() {
        let (captured, secret) = (Captured::default(), "a secret, \u{e9}".to_owned());
        let writer = captured.clone();
        let logs = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let hook = panic::take_hook();
        tell_panics();
        tracing::subscriber::with_default(logs, || {
            // As a mistake about somebody's text would: the standard library repeats the text.
            let read = panic::catch_unwind(|| secret.parse::<u8>().map_err(|_| &secret).unwrap());
            assert!(read.is_err());
        });
        panic::set_hook(hook);
        let told = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        assert!(told.contains("logs.rs:") && told.contains("panicked"), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
}
