//! An event as a message: its subject, its headers, its body, and back. Owns every name on the stream; must not know
//! how messages travel.
//!
//! Headers are CloudEvents in binary mode, in lower case, and the two hashes. `traceparent` is part of the description
//! for whoever adds it on the way; the log has none.

use async_nats::{HeaderMap, header};
use charter_events::{EventJson, Hash, LogId, Offset, StoredEvent, json::EVENT_JSON_BYTES_MAX};

/// The event's own hash, 64 hex digits.
pub(crate) const HASH_HEADER: &str = "charter-hash";
/// The predecessor's hash.
pub(crate) const PREV_HASH_HEADER: &str = "charter-prev-hash";

/// The stream of a log: `CHARTER_<log id without dashes>`.
pub fn stream_name(log_id: LogId) -> String {
    format!("CHARTER_{}", log_id.as_uuid().simple())
}

/// All subjects of a log: `charter.<log>.>`.
pub fn subjects(log_id: LogId) -> String {
    format!("charter.{log_id}.>")
}

/// The subject of an event: `charter.<log>.<area>.<event>`. Says nothing but the type.
pub fn subject(log_id: LogId, type_name: &str) -> String {
    format!("charter.{log_id}.{type_name}")
}

/// By which the server recognises a message it has: `<log>:<offset>`.
pub fn message_id(log_id: LogId, offset: Offset) -> String {
    format!("{log_id}:{offset}")
}

/// A message ready to be published.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) subject: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Why an event can't be a message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unpublishable {
    #[error("its type `{0}` is no subject")]
    Type(String),
    #[error("it can't be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("it has {0} bytes as JSON, at most {EVENT_JSON_BYTES_MAX} are published")]
    TooLong(usize),
}

impl Message {
    pub(crate) fn new(log_id: LogId, event: &StoredEvent) -> Result<Self, Unpublishable> {
        if !is_subject(&event.type_name) {
            return Err(Unpublishable::Type(event.type_name.chars().take(128).collect()));
        }
        let body = serde_json::to_vec(&EventJson::new(event)?)?;
        if body.len() > EVENT_JSON_BYTES_MAX {
            return Err(Unpublishable::TooLong(body.len()));
        }
        let headers = headers(log_id, event);
        Ok(Self { subject: subject(log_id, &event.type_name), headers, body })
    }
}

/// Two or more words of letters, digits, `_` and `-`, with dots between.
fn is_subject(type_name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    type_name.contains('.') && type_name.split('.').all(is_word)
}

fn headers(log_id: LogId, event: &StoredEvent) -> HeaderMap {
    let offset = event.offset.get();
    let mut headers = HeaderMap::new();
    headers.insert(header::NATS_MESSAGE_ID, message_id(log_id, event.offset));
    headers.insert(header::NATS_EXPECTED_LAST_SEQUENCE, offset.saturating_sub(1).to_string());
    headers.insert("ce-specversion", "1.0");
    headers.insert("ce-id", event.event_id.to_string());
    headers.insert("ce-source", format!("urn:charter:{log_id}"));
    headers.insert("ce-type", format!("charter.{}.v{}", event.type_name, event.schema));
    headers.insert("ce-time", event.recorded_at.to_string());
    headers.insert("ce-datacontenttype", "application/json");
    headers.insert("ce-sequence", format!("{offset:020}"));
    headers.insert(HASH_HEADER, event.hash.to_string());
    headers.insert(PREV_HASH_HEADER, event.prev_hash.to_string());
    headers
}

/// What a stored message says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) id: Option<String>,
    pub(crate) hash: Option<Hash>,
}

impl Stored {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let hash = headers.get(HASH_HEADER).and_then(|value| value.as_str().parse().ok());
        let id = headers.get(header::NATS_MESSAGE_ID).map(|value| value.as_str().to_owned());
        Self { id, hash }
    }

    /// Whether it is this event.
    pub(crate) fn is(&self, log_id: LogId, event: &StoredEvent) -> bool {
        self.hash == Some(event.hash) && self.id.as_deref() == Some(&message_id(log_id, event.offset))
    }
}

/// The event in a message's body; whether it is right is not judged here.
pub(crate) fn read_body(body: &[u8]) -> Result<StoredEvent, serde_json::Error> {
    serde_json::from_slice::<EventJson<'_>>(body).map(EventJson::into_event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use charter_store::{chain, conformance::Writing};

    fn sample() -> (LogId, StoredEvent) {
        let log_id = LogId::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0001);
        (log_id, Writing::new(chain::empty(log_id)).command(2).remove(1))
    }

    #[test]
    fn the_names_are_those_of_the_design() {
        let (log_id, _) = sample();
        assert_eq!(stream_name(log_id), "CHARTER_01990000000070008000000000000001");
        assert_eq!(subjects(log_id), "charter.01990000-0000-7000-8000-000000000001.>");
        assert_eq!(
            subject(log_id, "grant.issued"),
            "charter.01990000-0000-7000-8000-000000000001.grant.issued"
        );
    }

    #[test]
    fn a_message_says_what_its_event_is_and_is_read_back_equal() {
        let (log_id, event) = sample();
        let message = Message::new(log_id, &event).unwrap();
        let header = |name: &str| message.headers.get(name).unwrap().as_str().to_owned();
        assert!(message.subject.ends_with(".group.renamed"));
        for (name, value) in [
            ("Nats-Msg-Id", "01990000-0000-7000-8000-000000000001:2"),
            ("Nats-Expected-Last-Sequence", "1"),
            ("ce-specversion", "1.0"),
            ("ce-source", "urn:charter:01990000-0000-7000-8000-000000000001"),
            ("ce-type", "charter.group.renamed.v1"),
            ("ce-time", "2026-03-01T12:00:00Z"),
            ("ce-datacontenttype", "application/json"),
            ("ce-sequence", "00000000000000000002"),
        ] {
            assert_eq!(header(name), value, "{name}");
        }
        assert_eq!(header("ce-id"), event.event_id.to_string());
        assert_eq!(header("charter-hash"), event.hash.to_string());
        assert_eq!(header("charter-prev-hash"), event.prev_hash.to_string());
        assert_eq!(message.headers.len(), 11);
        assert_eq!(read_body(&message.body).unwrap(), event);
        assert!(Stored::read(&message.headers).is(log_id, &event));
        let other = StoredEvent { hash: Hash::ZERO, ..event.clone() };
        assert!(!Stored::read(&message.headers).is(log_id, &other));
        let other = StoredEvent { offset: Offset::new(3).unwrap(), ..event };
        assert!(!Stored::read(&message.headers).is(log_id, &other));
    }

    #[test]
    fn a_type_that_is_no_subject_is_not_published() {
        let (log_id, event) = sample();
        for type_name in ["", "grant", "grant.", ".issued", "grant.>", "grant.*", "grant issued.x"] {
            let event = StoredEvent { type_name: type_name.into(), ..event.clone() };
            assert!(matches!(Message::new(log_id, &event), Err(Unpublishable::Type(_))), "{type_name}");
        }
    }
}
