//! The shape of a scenario as files write it. Every unknown member, every member given twice is refused.

use crate::{
    locate::Origin,
    parse::LIST_ITEMS_MAX,
    words::{GrantName, ObjectRef, ScopeRef, Status, SubjectRef},
};
use charter_events::{
    Affects, ChildTypes, DisplayName, Effect, ObjectType, Pattern, PermissionKey, RoleScope, Slug, Timestamp,
};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use std::{fmt, marker::PhantomData, sync::Arc};

/// One scenario: facts, questions, and the answers expected.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub(crate) name: DisplayName,
    pub(crate) at: Option<Timestamp>,
    #[serde(default)]
    pub(crate) catalog: List<KeyEntry>,
    #[serde(default)]
    pub(crate) users: List<UserEntry>,
    #[serde(default)]
    pub(crate) groups: Named<List<Slug>>,
    #[serde(default)]
    pub(crate) roles: Named<RoleEntry>,
    #[serde(default)]
    pub(crate) objects: List<ObjectEntry>,
    #[serde(default)]
    pub(crate) grants: List<GrantEntry>,
    #[serde(default)]
    pub(crate) checks: List<Check>,
    #[serde(default)]
    pub(crate) who_can: List<WhoCan>,
    #[serde(default)]
    pub(crate) allowed_objects: List<AllowedObjects>,
    #[serde(default)]
    pub(crate) effective: List<Effective>,
    #[serde(default)]
    pub(crate) holds: List<Holds>,
    #[serde(skip)]
    pub(crate) origin: Arc<Origin>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyEntry {
    pub(crate) key: PermissionKey,
    #[serde(default)]
    pub(crate) object_types: List<ObjectType>,
}

#[derive(Debug, Clone)]
pub(crate) struct UserEntry {
    pub(crate) name: Slug,
    pub(crate) status: Status,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoleEntry {
    pub(crate) scope: RoleScope,
    #[serde(default)]
    pub(crate) permissions: List<Pattern>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObjectEntry {
    #[serde(rename = "type")]
    pub(crate) object_type: ObjectType,
    pub(crate) name: Slug,
    pub(crate) parent: Option<Slug>,
    pub(crate) owner: Option<Slug>,
    #[serde(default = "yes")]
    pub(crate) inherits: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantEntry {
    pub(crate) name: GrantName,
    pub(crate) to: SubjectRef,
    pub(crate) role: Option<Slug>,
    pub(crate) keys: Option<List<PermissionKey>>,
    pub(crate) on: Option<ObjectRef>,
    #[serde(default)]
    pub(crate) effect: Effect,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    #[serde(default)]
    pub(crate) affects: Affects,
    #[serde(default)]
    pub(crate) child_types: ChildTypes,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    pub(crate) user: Slug,
    pub(crate) permission: PermissionKey,
    pub(crate) on: Option<ObjectRef>,
    pub(crate) expect: ExpectedDecision,
}

/// What of a decision is expected; what is left out is not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ExpectedDecision {
    pub(crate) verdict: Option<Verdict>,
    pub(crate) because: Option<Because>,
    pub(crate) scope: Option<ScopeRef>,
    pub(crate) subject: Option<SubjectKind>,
    pub(crate) grants: Option<Vec<GrantName>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Because {
    Administrator,
    Grant,
    NotSet,
    InactiveSubject,
    UnknownPermission,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubjectKind {
    User,
    Group,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhoCan {
    pub(crate) permission: PermissionKey,
    pub(crate) on: Option<ObjectRef>,
    pub(crate) expect: List<Slug>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllowedObjects {
    pub(crate) user: Slug,
    pub(crate) permission: PermissionKey,
    #[serde(rename = "type")]
    pub(crate) object_type: ObjectType,
    pub(crate) expect: List<Slug>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Effective {
    pub(crate) user: Slug,
    pub(crate) on: Option<ObjectRef>,
    pub(crate) expect: ExpectedStates,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedStates {
    pub(crate) allowed: Option<List<PermissionKey>>,
    pub(crate) denied: Option<List<PermissionKey>>,
    pub(crate) not_set: Option<List<PermissionKey>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Holds {
    pub(crate) user: Slug,
    pub(crate) content: List<Pattern>,
    pub(crate) on: Option<ObjectRef>,
    #[serde(default)]
    pub(crate) affects: Affects,
    #[serde(default)]
    pub(crate) child_types: ChildTypes,
    pub(crate) expect: ExpectedMissing,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedMissing {
    pub(crate) missing: List<Pattern>,
}

/// A list with a bounded number of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> std::ops::Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    if list.len() >= LIST_ITEMS_MAX {
                        return Err(de::Error::custom(format!(
                            "a list takes at most {LIST_ITEMS_MAX} items"
                        )));
                    }
                    list.push(item);
                }
                Ok(List(list))
            }
        }
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

/// A map from names, in the order of the file; a name given twice is refused.
#[derive(Debug, Clone)]
pub(crate) struct Named<T>(pub(crate) Vec<(Slug, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut seen = std::collections::BTreeSet::new();
                let mut named = Vec::new();
                while let Some(name) = entries.next_key::<Slug>()? {
                    if !seen.insert(name.clone()) {
                        return Err(de::Error::custom(format!("`{name}` is given twice")));
                    }
                    if named.len() >= LIST_ITEMS_MAX {
                        return Err(de::Error::custom(format!(
                            "a map takes at most {LIST_ITEMS_MAX} entries"
                        )));
                    }
                    named.push((name, entries.next_value()?));
                }
                Ok(Named(named))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<'de> Deserialize<'de> for UserEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            name: Slug,
            #[serde(default)]
            status: Status,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = UserEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a user's name, or a map with `name` and `status`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(UserEntry { name: text.parse().map_err(E::custom)?, status: Status::Active })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let Long { name, status } = Long::deserialize(MapAccessDeserializer::new(map))?;
                Ok(UserEntry { name, status })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for ExpectedDecision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            verdict: Option<Verdict>,
            because: Option<Because>,
            scope: Option<ScopeRef>,
            subject: Option<SubjectKind>,
            grants: Option<List<GrantName>>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ExpectedDecision;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "`allow`, `deny`, or a map of `verdict`, `because`, `scope`, `subject` and `grants`",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let verdict = match text {
                    "allow" => Verdict::Allow,
                    "deny" => Verdict::Deny,
                    _ => return Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                };
                Ok(ExpectedDecision { verdict: Some(verdict), ..ExpectedDecision::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let long = Long::deserialize(MapAccessDeserializer::new(map))?;
                let Long { verdict, because, scope, subject, grants } = long;
                let expected =
                    ExpectedDecision { verdict, because, scope, subject, grants: grants.map(|list| list.0) };
                if expected == ExpectedDecision::default() {
                    return Err(de::Error::custom("it expects nothing"));
                }
                Ok(expected)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
