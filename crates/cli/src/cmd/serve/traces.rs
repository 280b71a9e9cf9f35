//! Traces, for whoever asks for them: what a server did for a request, sent to an OpenTelemetry collector. Owns which
//! requests are traced; how spans get there is in [`sending`].
//!
//! Nothing waits for a collector, and no request fails because of one.

mod sending;

use crate::exit::{Failure, Outcome};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use opentelemetry::{
    Context, KeyValue,
    trace::{Link, SpanKind, TraceContextExt, TraceId, TraceState, TracerProvider},
};
use opentelemetry_sdk::{
    Resource,
    trace::{SamplingDecision, SamplingResult, SdkTracer, SdkTracerProvider, ShouldSample},
};
use reqwest::Url;
use sending::Sending;
use std::{fmt, num::NonZeroU32, str::FromStr, sync::Arc};
use uuid::Uuid;

pub(super) use sending::show_counters;

/// Where a collector takes traces, under its address.
const PATH: &str = "v1/traces";
/// So many requests a second are traced because those who sent them trace them; beyond it the own share counts.
const WISHED_PER_SECOND: NonZeroU32 = NonZeroU32::new(100).unwrap();
/// How many bits of a trace's id choose whether it is taken.
const CHOOSING_BITS: u32 = 62;

/// Where traces go.
#[derive(Debug, clap::Args)]
pub(super) struct TracesArgs {
    /// Send traces to the OpenTelemetry collector at this address, such as http://127.0.0.1:4318, by OTLP over HTTP;
    /// `none`: send none, whatever the variable says
    #[arg(long, env = "CHARTER_OTLP_ENDPOINT", value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// What this server is called in traces
    #[arg(long, env = "CHARTER_OTLP_SERVICE_NAME", value_name = "NAME", default_value = "charter")]
    otlp_service_name: ServiceName,
    /// Which part of the requests is traced, from 0 to 1. Of those whose sender traces them 100 a second are, whatever
    /// it is; those whose sender says that he does not are not
    #[arg(long, env = "CHARTER_OTLP_SAMPLE_RATIO", value_name = "PART", default_value = "1")]
    otlp_sample_ratio: Ratio,
}

/// A part of everything.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ratio(f64);

impl FromStr for Ratio {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let part = text.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part));
        part.map(Self).ok_or("it is a number from 0 to 1, such as 0.05")
    }
}

/// How a service may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ServiceName(String);

impl FromStr for ServiceName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = (1..=100).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text.to_owned())) } else { Err("it has 1 to 100 letters, digits or signs") }
    }
}

impl TracesArgs {
    /// Where traces are posted to, if they are to be.
    pub(super) fn address(&self) -> Outcome<Option<Url>> {
        let text = self.otlp_endpoint.as_deref().map(str::trim).unwrap_or_default();
        if text.is_empty() || text.eq_ignore_ascii_case("none") {
            return Ok(None);
        }
        // Nothing of it is repeated: where it is refused it may hold a password.
        let wrong = |why: &str| {
            Failure::usage(format!("the collector's address {why}"))
                .hint("`--otlp-endpoint` takes something like http://127.0.0.1:4318")
        };
        let mut url = Url::parse(text).map_err(|_| wrong("is not understood"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("is neither http nor https: traces are sent by OTLP over HTTP"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("has a name or a password in it, which is not supported")
                .hint("a collector on this machine can add what another one asks for"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("has something after its path"));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with(PATH) {
            url.set_path(&format!("{path}/{PATH}"));
        }
        Ok(Some(url))
    }

    /// Begins to send traces, if they are to be sent.
    pub(super) fn begin(&self) -> Outcome<Option<Traces>> {
        let Some(url) = self.address()? else { return Ok(None) };
        let resource = Resource::builder_empty().with_attributes([
            KeyValue::new("service.name", self.otlp_service_name.0.clone()),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        ]);
        let resource = resource.build();
        let (queue, sending) = Sending::begin(url, &resource)?;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(Sampling::new(self.otlp_sample_ratio))
            .with_span_processor(queue)
            .build();
        Ok(Some(Traces { provider, sending }))
    }
}

/// Traces that are being sent.
pub(super) struct Traces {
    provider: SdkTracerProvider,
    sending: Sending,
}

impl Traces {
    /// What makes spans.
    pub(super) fn tracer(&self) -> SdkTracer {
        self.provider.tracer("charter")
    }

    /// Sends what is left, for a bounded time.
    pub(super) async fn end(self) {
        self.sending.end().await;
    }
}

/// Which traces are taken. A request that is part of somebody's trace has an id of his choosing, and says whether he
/// samples: neither may make a server trace more than it is told to.
#[derive(Clone)]
struct Sampling {
    /// A trace is taken when its bits are below this.
    below: u64,
    wished: Arc<DefaultDirectRateLimiter>,
}

impl Sampling {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of 2^62, from 0 on")]
    fn new(Ratio(part): Ratio) -> Self {
        let below = (part * 2_f64.powi(CHOOSING_BITS.cast_signed())) as u64;
        Self { below, wished: Arc::new(RateLimiter::direct(Quota::per_second(WISHED_PER_SECOND))) }
    }

    /// Whether the server's own share takes what these bits choose.
    const fn takes(&self, bits: u64) -> bool {
        bits & ((1 << CHOOSING_BITS) - 1) < self.below
    }

    fn samples(&self, parent: Option<&Context>, trace: TraceId) -> bool {
        let parent = parent.map(|context| context.span().span_context().clone());
        match parent.filter(opentelemetry::trace::SpanContext::is_valid) {
            // The id is ours.
            None => self.takes(u128::from_be_bytes(trace.to_bytes()) as u64),
            Some(parent) if !parent.is_remote() => parent.is_sampled(),
            Some(parent) if !parent.is_sampled() => false,
            Some(_) => self.wished.check().is_ok() || self.takes(Uuid::new_v4().as_u64_pair().1),
        }
    }
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampling").field("below", &self.below).finish_non_exhaustive()
    }
}

impl ShouldSample for Sampling {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace: TraceId,
        _: &str,
        _: &SpanKind,
        _: &[KeyValue],
        _: &[Link],
    ) -> SamplingResult {
        let decision = if self.samples(parent, trace) {
            SamplingDecision::RecordAndSample
        } else {
            SamplingDecision::Drop
        };
        SamplingResult { decision, attributes: Vec::new(), trace_state: TraceState::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::trace::{SpanContext, SpanId, TraceFlags};

    fn args(endpoint: &str) -> TracesArgs {
        TracesArgs {
            otlp_endpoint: Some(endpoint.to_owned()),
            otlp_service_name: ServiceName("charter".to_owned()),
            otlp_sample_ratio: Ratio(1.0),
        }
    }

    #[test]
    fn the_address_is_a_collectors_or_the_whole_one_of_its_traces() {
        for (given, posted) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://[::1]:4318/", "http://[::1]:4318/v1/traces"),
            ("https://otel.example.org/in", "https://otel.example.org/in/v1/traces"),
            ("https://otel.example.org/v1/traces", "https://otel.example.org/v1/traces"),
        ] {
            assert_eq!(args(given).address().unwrap().unwrap().as_str(), posted);
        }
        for none in ["", " ", "none", "None"] {
            assert_eq!(args(none).address().unwrap(), None);
        }
    }

    #[test]
    fn what_is_no_address_of_a_collector_is_refused_without_repeating_it() {
        for wrong in [
            "127.0.0.1:4318",
            "grpc://canary-host:4317",
            "http://user:canary@127.0.0.1:4318",
            "http://canary@127.0.0.1:4318",
            "http://127.0.0.1:4318/?key=canary",
            "http://127.0.0.1:4318/#canary",
            "http://",
        ] {
            let failure = args(wrong).address().unwrap_err();
            let told = format!("{} {:?}", failure.message, failure.hints);
            assert!(!told.contains("canary"), "{told}");
        }
    }

    #[test]
    fn a_part_is_a_number_from_0_to_1() {
        for good in ["0", "0.05", "1", "1.0"] {
            assert!(good.parse::<Ratio>().is_ok(), "{good}");
        }
        for bad in ["-0.1", "1.1", "NaN", "inf", "", "5%"] {
            assert!(bad.parse::<Ratio>().is_err(), "{bad}");
        }
    }

    fn trace(number: u64) -> TraceId {
        // As spread over all ids as random ones are.
        TraceId::from_bytes(u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes())
    }

    fn remote(trace: TraceId, flags: TraceFlags) -> Context {
        let parent = SpanContext::new(trace, SpanId::from_bytes([1; 8]), flags, true, TraceState::NONE);
        Context::new().with_remote_span_context(parent)
    }

    #[test]
    fn the_servers_own_share_is_what_it_is_told() {
        for (part, expected) in [(0.0, 0..=0), (0.25, 2_300..=2_700), (1.0, 10_000..=10_000)] {
            let sampling = Sampling::new(Ratio(part));
            let taken = (1..=10_000).filter(|number| sampling.samples(None, trace(*number))).count();
            assert!(expected.contains(&taken), "{part}: {taken}");
        }
    }

    #[test]
    fn who_traces_makes_a_server_trace_no_more_than_its_bound() {
        let sampling = Sampling::new(Ratio(0.0));
        let asks = || sampling.samples(Some(&remote(trace(1), TraceFlags::SAMPLED)), trace(1));
        assert!((0..10).all(|_| asks()), "within the bound it is taken");
        let taken = (0..10_000).filter(|_| asks()).count();
        // The bucket fills again while they ask.
        assert!(taken < 5_000, "{taken}");
        // An id that the share takes whenever it is judged by it: the sender chose it.
        let chosen = TraceId::from_bytes(1_u128.to_be_bytes());
        let sampling = Sampling::new(Ratio(0.01));
        let asked = (0..100_000)
            .filter(|_| sampling.samples(Some(&remote(chosen, TraceFlags::SAMPLED)), chosen))
            .count();
        assert!(asked < 50_000, "{asked}");
    }

    #[test]
    fn who_does_not_trace_is_not_traced_and_what_happens_within_a_span_goes_with_it() {
        let sampling = Sampling::new(Ratio(1.0));
        assert!(!sampling.samples(Some(&remote(trace(1), TraceFlags::NOT_SAMPLED)), trace(1)));
        for (flags, taken) in [(TraceFlags::SAMPLED, true), (TraceFlags::NOT_SAMPLED, false)] {
            let here = SpanContext::new(trace(1), SpanId::from_bytes([1; 8]), flags, false, TraceState::NONE);
            let context = Context::new().with_remote_span_context(here);
            assert_eq!(Sampling::new(Ratio(0.0)).samples(Some(&context), trace(1)), taken);
        }
    }
}
