//! The figures for `/metrics`: what each means, and how finely times are told.

use crate::exit::{Doing, Outcome};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::time::Duration;

/// How often old measurements are folded together.
const UPKEEP: Duration = Duration::from_secs(5);
/// Up to where requests and transactions are counted together, in seconds.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Up to where batches are counted together, in commands.
const COMMANDS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0];

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    /// Of seconds.
    Times,
    /// Of commands.
    Sizes,
}

use Kind::{Counter, Gauge, Sizes, Times};

/// Every figure a server tells.
const FIGURES: &[(&str, Kind, &str)] = &[
    ("charter_append_seconds", Times, "How long a transaction takes, from the lock to the commit"),
    ("charter_backups_total", Counter, "Backups that were done or failed"),
    ("charter_clock_behind_log_seconds", Gauge, "How far this machine's clock is behind the log"),
    ("charter_clock_skew_seconds", Gauge, "This machine's clock against the database's"),
    ("charter_commands_total", Counter, "Commands that were done, refused, or could not be decided"),
    ("charter_erasures_overdue", Gauge, "Accounts whose time has come and that were not erased"),
    ("charter_follow_lag_events", Gauge, "How many events of the log this server has yet to see"),
    ("charter_housekeeping_leads", Gauge, "Whether this server records expiries and erases"),
    ("charter_http_connections_refused_total", Counter, "Connections beyond what one address may have"),
    ("charter_http_event_streams", Gauge, "Streams of events that are open"),
    ("charter_http_request_seconds", Times, "How long an answer takes"),
    ("charter_http_requests_total", Counter, "Requests that were answered"),
    ("charter_last_backup_timestamp_seconds", Gauge, "When this server last took a backup"),
    ("charter_lease_age_seconds", Gauge, "Since when this server could not say that it is alive"),
    (
        "charter_letters_total",
        Counter,
        "Letters that were sent, that have to be tried again, or that were given up",
    ),
    ("charter_lock_timeouts_total", Counter, "How often others held the end of the log for too long"),
    ("charter_log_head", Gauge, "Where the log ends, as last heard"),
    ("charter_past_policies", Gauge, "Past states that are kept"),
    ("charter_past_replays_total", Counter, "How often a past state was replayed"),
    ("charter_policy_version", Gauge, "The version this server answers at"),
    (
        "charter_projection_differences_total",
        Counter,
        "Rebuilds whose rows were others than those that are read",
    ),
    ("charter_projection_events_total", Counter, "Events this server put into tables"),
    ("charter_projection_lag_events", Gauge, "Events the tables that are read lack"),
    ("charter_projection_offset", Gauge, "The last event in the tables that are read"),
    ("charter_projection_stopped", Gauge, "Whether a projection stopped at an event it can't take"),
    ("charter_publish_lag_events", Gauge, "Events that are not on the stream yet"),
    ("charter_publish_lag_seconds", Gauge, "For how long the oldest of them has not been"),
    ("charter_published_events_total", Counter, "Events this server published"),
    ("charter_publisher_leads", Gauge, "Whether this server publishes"),
    ("charter_server_info", Gauge, "This server and its build; always 1"),
    ("charter_server_version", Gauge, "The version of each server when it last said so"),
    ("charter_servers", Gauge, "How many servers are alive"),
    ("charter_store_unavailable_seconds", Gauge, "Since when the store is away"),
    ("charter_stream_forked", Gauge, "Whether the stream is not the log"),
    ("charter_tables_leads", Gauge, "Whether this server keeps the tables"),
    (
        "charter_trace_spans_total",
        Counter,
        "Spans of traces that were sent, or lost on the way to the collector",
    ),
    ("charter_writer_batch_commands", Sizes, "Commands in one transaction"),
    ("charter_writer_queue_depth", Gauge, "Commands that wait"),
];

/// Records what is measured, and keeps what it holds bounded.
pub(super) fn metrics() -> Outcome<PrometheusHandle> {
    let mut builder = PrometheusBuilder::new();
    for (name, kind, _) in FIGURES {
        let bounds: &[f64] = match kind {
            Counter | Gauge => continue,
            Times => &SECONDS,
            Sizes => &COMMANDS,
        };
        let of_it = Matcher::Full((*name).to_owned());
        builder = builder.set_buckets_for_metric(of_it, bounds).doing("record metrics")?;
    }
    let handle = builder.install_recorder().doing("record metrics")?;
    for (name, kind, about) in FIGURES {
        match kind {
            Counter => metrics::describe_counter!(*name, *about),
            Gauge => metrics::describe_gauge!(*name, *about),
            Times | Sizes => metrics::describe_histogram!(*name, *about),
        }
    }
    let kept = handle.clone();
    tokio::spawn(async move {
        let mut every = tokio::time::interval(UPKEEP);
        loop {
            every.tick().await;
            kept.run_upkeep();
        }
    });
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, path::Path};

    /// Every figure that is recorded anywhere in the sources, and by which macro.
    fn recorded(folder: &Path, found: &mut BTreeMap<String, &'static str>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                recorded(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for kind in ["counter", "gauge", "histogram"] {
                    for rest in text.split(&format!("metrics::{kind}!(")).skip(1) {
                        if let Some(name) =
                            rest.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next())
                        {
                            found.insert(name.to_owned(), kind);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_figure_that_a_server_records_is_described_and_no_other() {
        let mut found = BTreeMap::new();
        recorded(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut found);
        // In the process of a follower, which has a recorder of its own.
        found.retain(|name, _| name.starts_with("charter_") && !name.starts_with("charter_follower_"));
        let described: BTreeMap<_, _> = FIGURES
            .iter()
            .map(|(name, kind, _)| {
                let kind = match kind {
                    Counter => "counter",
                    Gauge => "gauge",
                    Times | Sizes => "histogram",
                };
                ((*name).to_owned(), kind)
            })
            .collect();
        assert_eq!(described, found);
    }
}
