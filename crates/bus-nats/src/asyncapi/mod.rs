//! The stream's description as an AsyncAPI 3.1 document, from the event types it carries. Owns the document's form; the
//! payloads' schemas are the files of `event-schemas`, which it refers to. Must not touch a file.
//!
//! The examples are messages as they are sent, made by the code that sends them, with hashes that are right.

use crate::message::Message;
use charter_events::{
    Actor, CommandId, CommandMeta, EventId, Hash, LogId, Offset, StoredEvent, Timestamp, UserId, Via,
};
use charter_store::chain;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write};

const HEAD: &str = include_str!("head.yaml");
const TAIL: &str = include_str!("tail.yaml");

/// One version of an event type, as the document shows it.
#[derive(Debug, Clone)]
pub struct Documented {
    /// The type's name.
    pub type_name: String,
    /// The version.
    pub schema: u16,
    /// What has happened, in a sentence.
    pub summary: String,
    /// An example of its payload: JSON, however it is spaced.
    pub example: String,
}

/// The document, YAML. It refers to the schemas of the payloads as files beside it, `<type>.v<version>.json`.
///
/// # Errors
/// When an example is no JSON, or no event can carry it.
pub fn asyncapi(events: &[Documented]) -> Result<String, charter_store::BoxError> {
    let mut types = BTreeMap::<&str, Vec<&Documented>>::new();
    for event in events {
        types.entry(&event.type_name).or_default().push(event);
    }
    let mut text = HEAD.to_owned();
    text.push_str("channels:\n");
    for (name, versions) in &types {
        channel(&mut text, name, versions)?;
    }
    text.push_str("operations:\n");
    for (name, versions) in &types {
        operation(&mut text, name, versions)?;
    }
    text.push_str("components:\n  messages:\n");
    for event in types.values().flatten() {
        message(&mut text, event)?;
    }
    text.push_str(TAIL);
    Ok(text)
}

fn channel(text: &mut String, name: &str, versions: &[&Documented]) -> std::fmt::Result {
    write!(
        text,
        "  {name}:
    address: charter.{{log}}.{name}
    title: {name}
    description: {}
    servers:
      - $ref: '#/servers/nats'
    parameters:
      log:
        $ref: '#/components/parameters/log'
    messages:
",
        quoted(versions.last().map_or("", |event| &event.summary))
    )?;
    for Documented { schema, .. } in versions {
        write!(text, "      v{schema}:\n        $ref: '#/components/messages/{name}.v{schema}'\n")?;
    }
    Ok(())
}

fn operation(text: &mut String, name: &str, versions: &[&Documented]) -> std::fmt::Result {
    write!(
        text,
        "  {name}:
    action: send
    summary: Charter publishes each `{name}`.
    description: In the order of the log, each once, when it is durable.
    channel:
      $ref: '#/channels/{name}'
    messages:
"
    )?;
    for Documented { schema, .. } in versions {
        writeln!(text, "      - $ref: '#/channels/{name}/messages/v{schema}'")?;
    }
    Ok(())
}

fn message(text: &mut String, event: &Documented) -> Result<(), charter_store::BoxError> {
    let Documented { type_name: name, schema, summary, .. } = event;
    let (headers, payload) = example(event)?;
    write!(
        text,
        "    {name}.v{schema}:
      name: {name}.v{schema}
      title: {name}, version {schema}
      summary: {}
      contentType: application/json
      headers:
        type: object
        allOf:
          - $ref: '#/components/schemas/headers'
          - properties:
              ce-type:
                const: charter.{name}.v{schema}
      payload:
        type: object
        allOf:
          - $ref: '#/components/schemas/envelope'
          - properties:
              type:
                const: {name}
              schema:
                const: {schema}
              payload:
                $ref: './{name}.v{schema}.json'
      examples:
        - name: example
          summary: The first event of a log, by a user.
          headers:
",
        quoted(summary)
    )?;
    for (header, value) in headers {
        writeln!(text, "            {header}: {}", quoted(&value))?;
    }
    writeln!(text, "          payload: {payload}")?;
    Ok(())
}

/// The event as the first of a log: headers by name, and the body, which is YAML as well.
fn example(event: &Documented) -> Result<(BTreeMap<String, String>, String), charter_store::BoxError> {
    let id = |number: u128| 0x0193_5f3a_7c00_7000_8000_0000_0000_0000 + number;
    let log_id = LogId::from_u128(id(1));
    let mut stored = StoredEvent {
        offset: Offset::new(1).unwrap_or_default(),
        event_id: EventId::from_u128(id(2)),
        command: CommandMeta {
            command_id: CommandId::from_u128(id(3)),
            actor: Actor::User(UserId::from_u128(id(4))),
            via: Via::Api,
            request_id: Some("req-1".to_owned()),
            reason: Some("an example".to_owned()),
        },
        command_index: 0,
        command_size: 1,
        type_name: event.type_name.clone(),
        schema: event.schema,
        recorded_at: Timestamp::from_micros(1_772_366_400_000_000).unwrap_or_default(),
        payload: compact(&event.example).into_bytes(),
        prev_hash: Hash::ZERO,
        hash: Hash::ZERO,
    };
    stored.hash = chain::hash(log_id, &stored);
    let message = Message::new(log_id, &stored)?;
    let values = |(name, values): (&async_nats::HeaderName, &Vec<async_nats::HeaderValue>)| {
        values.first().map(|value| (name.to_string(), value.to_string()))
    };
    Ok((message.headers.iter().filter_map(values).collect(), String::from_utf8(message.body)?))
}

/// JSON without the space between its parts.
fn compact(json: &str) -> String {
    let (mut in_text, mut escaped) = (false, false);
    json.trim()
        .chars()
        .filter(|&c| {
            let kept = in_text || !c.is_ascii_whitespace();
            if c == '"' && !escaped {
                in_text = !in_text;
            }
            escaped = in_text && c == '\\' && !escaped;
            kept
        })
        .collect()
}

/// A text as YAML, on one line.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::read_body;

    fn documented() -> Documented {
        let example =
            "{\n  \"group\": \"01935f3a-7c00-7000-8020-a11ce0000020\",\n  \"name\": \"a \\\" b\"\n}\n";
        Documented {
            type_name: "group.renamed".into(),
            schema: 1,
            summary: "A group: \"renamed\".".into(),
            example: example.into(),
        }
    }

    #[test]
    fn space_goes_where_it_means_nothing() {
        assert_eq!(compact(" {\n \"a b\" : [ 1, \"c\\\" d\\\\\" ] }\n"), r#"{"a b":[1,"c\" d\\"]}"#);
    }

    #[test]
    fn the_example_is_a_message_whose_hash_is_right() {
        let (headers, body) = example(&documented()).unwrap();
        let event = read_body(body.as_bytes()).unwrap();
        let log_id = LogId::from_u128(0x0193_5f3a_7c00_7000_8000_0000_0000_0001);
        assert_eq!(chain::hash(log_id, &event), event.hash);
        assert_eq!(headers.get("charter-hash"), Some(&event.hash.to_string()));
        assert!(event.decode().is_ok());
    }

    #[test]
    fn an_example_that_is_no_json_is_refused() {
        let event = Documented { example: "{".into(), ..documented() };
        assert!(asyncapi(&[event]).is_err());
    }

    #[test]
    fn each_version_is_a_message_of_its_types_channel() {
        let next = Documented { schema: 2, ..documented() };
        let text = asyncapi(&[documented(), next]).unwrap();
        for part in [
            "  group.renamed:\n    address: charter.{log}.group.renamed\n",
            "      v2:\n        $ref: '#/components/messages/group.renamed.v2'\n",
            "      - $ref: '#/channels/group.renamed/messages/v1'\n",
            "                $ref: './group.renamed.v2.json'\n",
            "    description: \"A group: \\\"renamed\\\".\"\n",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }
}
