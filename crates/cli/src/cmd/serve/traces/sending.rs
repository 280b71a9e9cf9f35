//! The way of spans to the collector: a queue with a bound, and one task that posts what is in it (OTLP, protobuf over
//! HTTP). A full queue or a collector that is away loses spans, which is counted, and nothing else.

use crate::exit::{Failure, Outcome, chain};
use opentelemetry::Context;
use opentelemetry_proto::{
    tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    transform::{
        common::tonic::ResourceAttributesWithSchema, trace::tonic::group_spans_by_resource_and_scope,
    },
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{Span, SpanData, SpanProcessor},
};
use prost::Message;
use reqwest::{Client, Response, Url, header, redirect::Policy};
use std::time::Duration;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// The most spans that wait; more are lost.
const QUEUE_SPANS_MAX: usize = 4_096;
/// The most spans sent at once.
const BATCH_SPANS_MAX: usize = 512;
/// How long spans are gathered before they are sent.
const GATHERED: Duration = Duration::from_secs(1);
/// How long a collector may take for one batch.
const SEND_SECONDS_MAX: u64 = 10;
/// How long connecting to it may take.
const CONNECT_SECONDS_MAX: u64 = 5;
/// The largest answer of a collector that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long sending what is left may take when the server ends.
const FLUSH_SECONDS_MAX: u64 = 5;
/// A collector that takes nothing is told of only this often.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The task that sends.
pub(super) struct Sending {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// The queue's end at which spans come in.
#[derive(Debug)]
pub(super) struct Queue(mpsc::Sender<SpanData>);

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.0.try_send(span).is_err() {
            count("dropped", 1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Shows the counters from the start on.
pub(in super::super) fn show_counters() {
    ["sent", "dropped", "failed"].into_iter().for_each(|outcome| count(outcome, 0));
}

fn count(outcome: &'static str, spans: u64) {
    metrics::counter!("charter_trace_spans_total", "outcome" => outcome).increment(spans);
}

impl Sending {
    /// Sends what comes into the queue from now on.
    pub(super) fn begin(url: Url, resource: &Resource) -> Outcome<(Queue, Self)> {
        let http = Client::builder()
            .user_agent(concat!("charter/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .timeout(Duration::from_secs(SEND_SECONDS_MAX))
            .redirect(Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| Failure::error(format!("can't send traces: {}", chain(&error))))?;
        let (sender, spans) = mpsc::channel(QUEUE_SPANS_MAX);
        let stop = CancellationToken::new();
        let collector = Collector { http, url, resource: resource.into(), told: None, lost: 0 };
        let task = tokio::spawn(collector.take(spans, stop.clone()));
        Ok((Queue(sender), Self { stop, task }))
    }

    /// Sends what is left, for a bounded time.
    pub(super) async fn end(self) {
        let Self { stop, mut task } = self;
        stop.cancel();
        if timeout(Duration::from_secs(FLUSH_SECONDS_MAX), &mut task).await.is_err() {
            task.abort();
            tracing::warn!("the last traces were not sent: the collector takes too long");
        }
    }
}

struct Collector {
    http: Client,
    url: Url,
    resource: ResourceAttributesWithSchema,
    /// When it was last told that spans are lost, and how many were since.
    told: Option<Instant>,
    lost: u64,
}

impl Collector {
    /// Sends until told to stop, then what is left.
    async fn take(mut self, mut spans: mpsc::Receiver<SpanData>, stop: CancellationToken) {
        loop {
            let mut batch = Vec::with_capacity(BATCH_SPANS_MAX);
            tokio::select! {
                taken = spans.recv_many(&mut batch, BATCH_SPANS_MAX) => if taken == 0 {
                    return;
                },
                () = stop.cancelled(), if !spans.is_closed() => {
                    spans.close();
                    continue;
                }
            }
            tokio::select! {
                () = gather(&mut spans, &mut batch) => {}
                () = stop.cancelled() => spans.close(),
            }
            self.send(batch).await;
        }
    }

    async fn send(&mut self, batch: Vec<SpanData>) {
        let spans = batch.len() as u64;
        let request = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(batch, &self.resource),
        };
        match self.post(request.encode_to_vec()).await {
            Ok(refused) => {
                let refused = refused.min(spans);
                count("sent", spans - refused);
                if refused > 0 {
                    self.tell(refused, "it refused them");
                }
            }
            Err(why) => self.tell(spans, &why),
        }
    }

    /// How many spans the collector says it did not take; or why none were sent.
    async fn post(&self, body: Vec<u8>) -> Result<u64, String> {
        let request = self.http.post(self.url.clone()).header(header::CONTENT_TYPE, "application/x-protobuf");
        let answer = request.body(body).send().await.map_err(|error| chain(&error.without_url()))?;
        let status = answer.status();
        if !status.is_success() {
            return Err(format!("it answered {status}"));
        }
        let answer = ExportTraceServiceResponse::decode(read(answer).await?.as_slice())
            .map_err(|_| "its answer is not OTLP's".to_owned())?;
        let refused = answer.partial_success.map_or(0, |partial| partial.rejected_spans);
        Ok(u64::try_from(refused).unwrap_or(0))
    }

    /// Counts spans that are lost, and says so from time to time.
    fn tell(&mut self, spans: u64, why: &str) {
        count("failed", spans);
        self.lost = self.lost.saturating_add(spans);
        if self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            tracing::warn!(spans = self.lost, why, "traces are lost: the collector does not take them");
            (self.told, self.lost) = (Some(Instant::now()), 0);
        }
    }
}

/// Fills a batch, for as long as spans are gathered.
async fn gather(spans: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    let until = Instant::now() + GATHERED;
    while batch.len() < BATCH_SPANS_MAX {
        match timeout_at(until, spans.recv()).await {
            Ok(Some(span)) => batch.push(span),
            Ok(None) | Err(_) => return,
        }
    }
}

async fn read(mut answer: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| chain(&error.without_url()))? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err("its answer is too long".to_owned());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
