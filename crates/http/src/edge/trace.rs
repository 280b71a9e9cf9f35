//! The trace a request is part of: as whoever sent it says (W3C Trace Context), and the span in it that is the request
//! here. Traces go somewhere only when a server is told to send them; without, a span costs next to nothing.
//!
//! A span names the route and never the path, the query, a header, a body or a person: what is in it leaves the
//! machine. Of what the caller says it takes the two ids and whether he samples, and nothing else.

use crate::{answer::POLICY_VERSION, problem::ProblemCode};
use axum::{
    http::{HeaderMap, HeaderValue},
    response::Response,
};
use charter_control::TRACES;
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use tracing::{Span, field::Empty};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// What a `traceparent` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parent<'a> {
    trace: &'a str,
    span: &'a str,
    flags: &'a str,
}

/// The trace's id of a `traceparent` that is one; anything else is as if it were not there.
pub(super) fn trace_id(headers: &HeaderMap) -> Option<String> {
    parent(headers).map(|parent| parent.trace.to_owned())
}

/// The span of a request; disabled unless traces are sent.
pub(super) fn span(method: &'static str, route: &str, headers: &HeaderMap) -> Span {
    let span = tracing::info_span!(
        target: TRACES,
        "request",
        otel.name = %format_args!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        charter.policy_version = Empty,
        charter.problem = Empty,
    );
    if !span.is_disabled()
        && let Some(remote) = parent(headers).and_then(Parent::context)
    {
        // It has a parent once, here, and has not begun before.
        let _ = span.set_parent(Context::new().with_remote_span_context(remote));
    }
    span
}

/// The trace's id of a span that is sent.
pub(super) fn sent_id(span: &Span) -> Option<String> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let of_span = context.span().span_context().clone();
    of_span.is_sampled().then(|| of_span.trace_id().to_string())
}

/// Tells a span how its request was answered.
pub(super) fn answered(span: &Span, response: &Response) {
    if span.is_disabled() {
        return;
    }
    let status = response.status();
    span.record("http.response.status_code", i64::from(status.as_u16()));
    let version = response.headers().get(POLICY_VERSION).map(HeaderValue::to_str);
    if let Some(version) = version.and_then(Result::ok).and_then(|text| text.parse::<i64>().ok()) {
        span.record("charter.policy_version", version);
    }
    if let Some(ProblemCode(code)) = response.extensions().get::<ProblemCode>() {
        span.record("charter.problem", *code);
    }
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

fn parent(headers: &HeaderMap) -> Option<Parent<'_>> {
    let mut sent = headers.get_all("traceparent").iter();
    let (Some(value), None) = (sent.next(), sent.next()) else { return None };
    let mut parts = value.to_str().ok()?.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_whole = hex(version, 2) && version != "ff" && hex(flags, 2) && names(trace, 32) && names(span, 16);
    // A later version may say more after it, this one not.
    (is_whole && (version != "00" || parts.next().is_none())).then_some(Parent { trace, span, flags })
}

impl Parent<'_> {
    /// Without a `tracestate`: others' words of any length are not carried on.
    fn context(self) -> Option<SpanContext> {
        let (trace, span) = (TraceId::from_hex(self.trace).ok()?, SpanId::from_hex(self.span).ok()?);
        let sampled = TraceFlags::new(u8::from_str_radix(self.flags, 16).ok()?) & TraceFlags::SAMPLED;
        Some(SpanContext::new(trace, span, sampled, true, TraceState::NONE))
    }
}

fn hex(text: &str, chars: usize) -> bool {
    text.len() == chars && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn names(text: &str, chars: usize) -> bool {
    hex(text, chars) && text.bytes().any(|byte| byte != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn headers(values: &[String]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", value.parse().unwrap());
        }
        headers
    }

    fn told(values: &[String]) -> Option<String> {
        trace_id(&headers(values))
    }

    #[test]
    fn a_trace_is_taken_at_its_word_only_when_it_is_one() {
        let good = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert_eq!(told(std::slice::from_ref(&good)).as_deref(), Some(TRACE));
        assert_eq!(told(&[format!("01-{TRACE}-00f067aa0ba902b7-01-later")]).as_deref(), Some(TRACE));
        for bad in [
            format!("{good}-more"),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{TRACE}-00f067aa0ba902b7"),
            format!("00-{TRACE}x-00f067aa0ba902b7-01"),
            String::new(),
            "secret".to_owned(),
        ] {
            assert_eq!(told(std::slice::from_ref(&bad)), None, "{bad}");
        }
        assert_eq!(told(&[good.clone(), good]), None);
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn a_parent_is_remote_and_of_its_flags_only_one_counts() {
        for (flags, sampled) in [("00", false), ("01", true), ("02", false), ("ff", true)] {
            let headers = headers(&[format!("00-{TRACE}-00f067aa0ba902b7-{flags}")]);
            let context = parent(&headers).and_then(Parent::context).unwrap();
            assert!(context.is_remote() && context.is_sampled() == sampled, "{flags}");
            assert_eq!(context.trace_flags().to_u8(), u8::from(sampled));
            assert_eq!(
                (context.trace_id().to_string(), context.span_id().to_string()),
                (TRACE.to_owned(), "00f067aa0ba902b7".to_owned())
            );
        }
    }

    #[test]
    fn where_no_traces_are_sent_a_request_has_no_span() {
        let headers = headers(&[format!("00-{TRACE}-00f067aa0ba902b7-01")]);
        let span = span("GET", "/healthz", &headers);
        assert!(span.is_disabled());
        assert_eq!(sent_id(&span), None);
    }
}
