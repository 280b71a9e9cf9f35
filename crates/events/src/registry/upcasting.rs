//! Proof that the registry upcasts: the same macro with a type that has a past, and one that has two.
//!
//! Owns a registry of its own. The product's has no second version yet.

use super::{DecodeError, EventType};
use crate::{access::RoleScope, areas::payload, ids::RoleId, key::Pattern, names::Slug};

payload! {
    /// Roles as they were first written: every role could be assigned anywhere.
    RoleCreatedV1 {
        /// Its id.
        role: RoleId,
        /// Its slug.
        slug: Slug,
        /// What it holds.
        permissions: Vec<Pattern>,
    }
}

payload! {
    /// Roles with a scope.
    RoleCreated {
        /// Its id.
        role: RoleId,
        /// Its slug.
        slug: Slug,
        /// Where it may be assigned.
        scope: RoleScope,
        /// What it holds.
        permissions: Vec<Pattern>,
    }
}

impl From<RoleCreatedV1> for RoleCreated {
    fn from(RoleCreatedV1 { role, slug, permissions }: RoleCreatedV1) -> Self {
        Self { role, slug, scope: RoleScope::Both, permissions }
    }
}

payload! {
    /// A name as one text.
    NamedV1 {
        /// First and last.
        name: String,
    }
}

payload! {
    /// A name in two parts, under members of other names.
    NamedV2 {
        /// First.
        first: String,
        /// Last.
        last: String,
    }
}

payload! {
    /// A name in a list.
    Named {
        /// All parts.
        parts: Vec<String>,
    }
}

impl From<NamedV1> for Named {
    fn from(old: NamedV1) -> Self {
        Self { parts: old.name.split(' ').map(str::to_owned).collect() }
    }
}

impl From<NamedV2> for Named {
    fn from(old: NamedV2) -> Self {
        Self { parts: vec![old.first, old.last] }
    }
}

registry! {
    "role.created" v 2 RoleCreated, upcast { 1 => RoleCreatedV1 };
    "thing.named" v 3 Named, upcast { 1 => NamedV1, 2 => NamedV2 };
}

const ROLE: &str = "01900000-0000-7000-8000-000000000001";

#[test]
fn a_role_of_the_first_version_is_read_as_one_that_goes_anywhere() {
    let v1 = format!(r#"{{"role":"{ROLE}","slug":"builder","permissions":["minecraft.*"]}}"#);
    let v2 = format!(r#"{{"role":"{ROLE}","slug":"builder","scope":"both","permissions":["minecraft.*"]}}"#);

    let old = Event::decode("role.created", 1, v1.as_bytes()).unwrap();
    let new = Event::decode("role.created", 2, v2.as_bytes()).unwrap();

    assert_eq!(old, new);
    assert_eq!(
        (old.type_name(), old.schema()),
        ("role.created", 2),
        "what is written again is today's version"
    );
    assert_eq!(String::from_utf8(old.encode().unwrap()).unwrap(), v2);
}

#[test]
fn each_version_is_read_by_its_own_shape() {
    let v1 = format!(r#"{{"role":"{ROLE}","slug":"builder","permissions":["minecraft.*"]}}"#);
    let v2 = format!(r#"{{"role":"{ROLE}","slug":"builder","scope":"both","permissions":["minecraft.*"]}}"#);
    for (schema, payload) in [(2, &v1), (1, &v2)] {
        let error = Event::decode("role.created", schema, payload.as_bytes()).unwrap_err();
        assert!(matches!(error, DecodeError::Payload { type_name: "role.created", .. }), "{schema}: {error}");
    }
}

#[test]
fn every_version_of_the_past_becomes_the_present() {
    let parts = vec!["Ada".to_owned(), "Lovelace".to_owned()];
    let expected = Event::Named(Named { parts });
    for (schema, payload) in [
        (1, r#"{"name":"Ada Lovelace"}"#),
        (2, r#"{"first":"Ada","last":"Lovelace"}"#),
        (3, r#"{"parts":["Ada","Lovelace"]}"#),
    ] {
        assert_eq!(Event::decode("thing.named", schema, payload.as_bytes()).unwrap(), expected, "{schema}");
    }
    for schema in [0, 4, u16::MAX] {
        let error = Event::decode("thing.named", schema, b"{}").unwrap_err();
        assert!(matches!(error, DecodeError::UnknownSchema { .. }), "{schema}: {error}");
    }
}

#[test]
fn the_registry_lists_every_version_with_its_schema() {
    let versions: Vec<_> = EVENT_TYPES.iter().map(|t| (t.name, t.upcast, t.schema)).collect();
    assert_eq!(versions, [("role.created", &[1][..], 2), ("thing.named", &[1, 2], 3)]);

    let schemas: Vec<_> = schemas().into_iter().map(|(name, version, _)| (name, version)).collect();
    assert_eq!(
        schemas,
        [
            ("role.created", 1),
            ("role.created", 2),
            ("thing.named", 1),
            ("thing.named", 2),
            ("thing.named", 3)
        ]
    );
}
