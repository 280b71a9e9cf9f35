//! The trace a request is part of, as whoever sent it says (W3C Trace Context): told in the access log, so that a line
//! there is found from a trace made elsewhere.

use axum::http::HeaderMap;

/// The trace's id of a `traceparent` that is one; anything else is as if it were not there.
pub(super) fn trace_id(headers: &HeaderMap) -> Option<String> {
    let mut sent = headers.get_all("traceparent").iter();
    let (Some(value), None) = (sent.next(), sent.next()) else { return None };
    let mut parts = value.to_str().ok()?.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_whole =
        hex(version, 2) && version != "ff" && hex(flags, 2) && names(trace, 32) && names(parent, 16);
    // A later version may say more after it, this one not.
    (is_whole && (version != "00" || parts.next().is_none())).then(|| trace.to_owned())
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

    fn told(values: &[String]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", value.parse().unwrap());
        }
        trace_id(&headers)
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
}
