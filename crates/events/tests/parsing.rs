//! Keys, patterns, slugs, moments and events under texts nobody thought of.

use charter_events::{
    CredentialTokenIssued, DisplayName, Event, ExternalId, NameTag, Namespace, Pattern, PatternKind,
    PermissionKey, Slug, Timestamp, TokenId, UserId,
};
use proptest::prelude::*;

/// Texts near the edge of being valid.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9_.*-]{0,24}",
        "[a-c*]{1,3}(\\.[a-c*]{1,3}){0,4}",
        "[a-zA-Z0-9 ._*é\u{200b}\u{0}-]{0,12}",
        any::<String>(),
    ]
}

fn segment() -> impl Strategy<Value = String> {
    "[a-z0-9_-]{1,12}"
}

fn key() -> impl Strategy<Value = String> {
    (segment(), segment(), segment()).prop_map(|(a, b, c)| format!("{a}.{b}.{c}"))
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just("*".to_owned()),
        2 => "[ab]".prop_map(|a| format!("{a}.*")),
        3 => "[ab]\\.[ab]".prop_map(|ab| format!("{ab}.*")),
        4 => "[ab]\\.[ab]\\.[ab]",
    ]
}

fn is_segment(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-'))
}

proptest! {
    #[test]
    fn a_key_is_three_segments_and_shows_as_it_was_written(text in text()) {
        let parts: Vec<&str> = text.split('.').collect();
        let expected = parts.len() == 3 && parts.iter().all(|part| is_segment(part));
        match text.parse::<PermissionKey>() {
            Ok(key) => {
                prop_assert!(expected);
                prop_assert_eq!(key.to_string(), text.clone());
                prop_assert_eq!(vec![key.namespace(), key.resource(), key.action()], parts);
            }
            Err(_) => prop_assert!(!expected, "{text:?} is a key"),
        }
    }

    #[test]
    fn every_key_is_a_pattern_and_a_pattern_without_a_star_is_a_key(text in text()) {
        let key = text.parse::<PermissionKey>();
        let pattern = text.parse::<Pattern>();
        match (key, pattern) {
            (Ok(key), Ok(pattern)) => {
                prop_assert_eq!(pattern.as_key(), Some(key.clone()));
                prop_assert_eq!(Pattern::from(key), pattern);
            }
            (Ok(_), Err(_)) => prop_assert!(false, "{text:?} is a key and no pattern"),
            (Err(_), Ok(pattern)) => prop_assert!(pattern.is_wildcard() && text.ends_with('*')),
            (Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn a_pattern_matches_exactly_the_keys_with_its_leading_segments(pattern in pattern(), key in "[ab]\\.[ab]\\.[ab]") {
        let expected = match pattern.strip_suffix('*') {
            None => pattern == key,
            Some(before) => key.starts_with(before),
        };
        let pattern: Pattern = pattern.parse().unwrap();
        prop_assert_eq!(pattern.matches(&key.parse().unwrap()), expected);
    }

    #[test]
    fn what_covers_matches_all_that_the_covered_matches(
        wide in pattern(), narrow in pattern(), key in "[ab]\\.[ab]\\.[ab]",
    ) {
        let (wide, narrow): (Pattern, Pattern) = (wide.parse().unwrap(), narrow.parse().unwrap());
        let key: PermissionKey = key.parse().unwrap();
        prop_assert!(wide.covers(&wide));
        if wide.covers(&narrow) && narrow.matches(&key) {
            prop_assert!(wide.matches(&key));
        }
        if wide.covers(&narrow) && narrow.covers(&wide) {
            prop_assert_eq!(wide, narrow);
        }
    }

    #[test]
    fn the_kind_of_a_pattern_says_what_its_text_says(pattern in pattern()) {
        let parsed: Pattern = pattern.parse().unwrap();
        let again = match parsed.kind() {
            PatternKind::All => "*".to_owned(),
            PatternKind::Namespace(before) | PatternKind::Resource(before) => format!("{before}.*"),
            PatternKind::Key(key) => key.to_owned(),
        };
        prop_assert_eq!(again, pattern);
    }

    #[test]
    fn a_name_is_taken_as_it_is_or_refused_and_never_folded(text in text()) {
        macro_rules! as_written {
            ($($name:ty),+) => {$(
                if let Ok(name) = text.parse::<$name>() {
                    prop_assert_eq!(name.as_str(), text.as_str());
                    let json = serde_json::to_string(&name).unwrap();
                    prop_assert_eq!(serde_json::from_str::<$name>(&json).unwrap(), name);
                } else {
                    let json = serde_json::to_string(&text).unwrap();
                    prop_assert!(serde_json::from_str::<$name>(&json).is_err());
                }
            )+};
        }
        as_written!(Slug, Namespace, ExternalId, DisplayName, PermissionKey, Pattern);
    }

    #[test]
    fn a_slug_takes_lower_case_and_begins_with_a_letter_or_digit(text in text()) {
        let expected = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && text.len() <= 128
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c));
        prop_assert_eq!(text.parse::<Slug>().is_ok(), expected, "{:?}", text);
    }

    #[test]
    fn a_refusal_is_one_short_line(text in any::<String>()) {
        if let Err(error) = text.parse::<Slug>() {
            let message = error.to_string();
            prop_assert!(message.len() < 1024 && !message.chars().any(char::is_control), "{message:?}");
        }
    }

    #[test]
    fn a_moment_survives_its_text(micros in Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros()) {
        let moment = Timestamp::from_micros(micros).unwrap();
        prop_assert_eq!(moment.to_string().parse::<Timestamp>().unwrap(), moment);
        prop_assert_eq!(moment.to_string().len() >= 20, true);
    }

    #[test]
    fn moments_beyond_the_calendar_are_none(micros in any::<i64>()) {
        let within = (Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros()).contains(&micros);
        prop_assert_eq!(Timestamp::from_micros(micros).is_some(), within);
    }

    #[test]
    fn a_tag_survives_its_text(bytes in any::<[u8; 32]>()) {
        let tag = NameTag::new(bytes);
        prop_assert_eq!(tag.to_string().parse::<NameTag>().unwrap(), tag);
        let upper = tag.to_string().to_uppercase();
        let has_letters = upper != tag.to_string();
        prop_assert_eq!(upper.parse::<NameTag>().is_err(), has_letters);
    }

    #[test]
    fn reading_bytes_never_fails_in_another_way_than_with_an_error(
        place in 0..charter_events::EVENT_TYPES.len(), schema in 0_u16..4, payload in any::<Vec<u8>>(),
    ) {
        let name = charter_events::EVENT_TYPES[place].name;
        drop(Event::decode(name, schema, &payload));
    }

    #[test]
    fn a_token_event_survives_writing_and_reading(
        token in any::<u128>(), user in any::<u128>(), name in "[A-Za-z][A-Za-z0-9 \"\\\\é]{0,20}[A-Za-z]",
        expires_at in proptest::option::of(Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros()),
        mask in proptest::option::of(proptest::collection::vec(key(), 0..4)),
    ) {
        let event = Event::from(CredentialTokenIssued {
            token: TokenId::from_u128(token),
            user: UserId::from_u128(user),
            name: name.parse().unwrap(),
            expires_at: expires_at.and_then(Timestamp::from_micros),
            mask: mask.map(|keys| keys.iter().map(|key| key.parse().unwrap()).collect()),
        });
        let written = event.encode().unwrap();
        let read = Event::decode(event.type_name(), event.schema(), &written).unwrap();
        prop_assert_eq!(&read, &event);
        prop_assert_eq!(read.encode().unwrap(), written);
    }
}
