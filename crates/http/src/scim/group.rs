//! A group as SCIM has it: what is shown of it, what filters ask of it, and what a message says it should be.

use super::{
    answer,
    facts::{Fact, Facts, fits},
    fault::{Fault, fault},
    filter::{Elements, Field, Filter},
    members::{self, Members},
    shown::Shown,
    user,
    wish::{self, Do},
};
use crate::{ask::Ask, problem::Problem};
use charter_control::{GroupChange, MemberChange, NewGroup, is_in_directory};
use charter_events::{DisplayName, UserId};
use charter_policy::{GroupView, Policy};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The schema of a group.
pub(super) const SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
/// The type every member has here: groups do not nest.
const USER: &str = "User";
/// What only this side says.
const READ_ONLY: [&str; 2] = ["id", "meta"];

/// A group, and whose it is.
pub(super) struct Team<'a> {
    pub(super) view: GroupView<'a>,
    pub(super) policy: &'a Policy,
}

/// The path of a group.
pub(super) fn location(id: impl std::fmt::Display) -> String {
    format!("{}/Groups/{id}", super::ROOT)
}

impl<'a> Team<'a> {
    /// Those in it whom a provider knows of.
    fn persons(&self) -> impl Iterator<Item = UserId> + use<'a> {
        let policy = self.policy;
        policy
            .members(self.view.id)
            .filter(move |user| policy.user(*user).is_some_and(|user| is_in_directory(&user)))
    }

    /// Its entity tag.
    pub(super) fn tag(&self) -> String {
        answer::tag(self.view.changed_at, None)
    }

    /// The whole of it; its members only if they are shown.
    pub(super) fn shown(&self, shown: &Shown) -> Value {
        let mut group = Map::new();
        let id = self.view.id.to_string();
        group.insert("schemas".to_owned(), json!([SCHEMA]));
        group.insert("id".to_owned(), id.clone().into());
        group.insert("displayName".to_owned(), self.view.name.to_string().into());
        if let Some(external) = self.view.external_id {
            group.insert("externalId".to_owned(), external.to_string().into());
        }
        if shown.shows("members") {
            let member = |user: UserId| {
                let user = user.to_string();
                json!({"value": user, "$ref": user::location(&user), "type": USER})
            };
            let members: Vec<Value> = self.persons().map(member).collect();
            if !members.is_empty() {
                group.insert("members".to_owned(), members.into());
            }
        }
        let meta = json!({"resourceType": "Group", "location": location(&id), "version": self.tag()});
        group.insert("meta".to_owned(), meta);
        shown.of(Value::Object(group))
    }
}

impl Facts for Team<'_> {
    fn facts(&self, field: Field) -> Vec<Fact<'_>> {
        match field {
            Field::Id => vec![Fact::text(self.view.id.to_string())],
            Field::DisplayName => vec![Fact::text(self.view.name.as_str())],
            Field::ExternalId => {
                self.view.external_id.map(|id| Fact::text(id.as_str())).into_iter().collect()
            }
            Field::ResourceType => vec![Fact::text("Group")],
            Field::Members => self.persons().map(|user| Fact::text(user.to_string())).collect(),
            Field::MembersType => self.persons().take(1).map(|_| Fact::text(USER)).collect(),
            _ => Vec::new(),
        }
    }

    fn has(&self, elements: Elements, of: &Filter) -> bool {
        elements == Elements::Members && self.persons().any(|user| fits(of, &Member(user)))
    }
}

/// Somebody in a group.
struct Member(UserId);

impl Facts for Member {
    fn facts(&self, field: Field) -> Vec<Fact<'_>> {
        match field {
            Field::Members => vec![Fact::text(self.0.to_string())],
            Field::MembersType => vec![Fact::text(USER)],
            _ => Vec::new(),
        }
    }

    fn has(&self, _: Elements, _: &Filter) -> bool {
        false
    }
}

/// What a group should be.
#[derive(Debug, Default)]
pub(super) struct Wish {
    display_name: Option<String>,
    external_id: Option<Option<String>>,
    members: MemberChange,
}

impl Wish {
    /// As a message says it is. Members that are not named stay; an empty list is nobody.
    ///
    /// # Errors
    /// `invalidSyntax` for a member nobody knows, `invalidValue` for one that is not what it has to be.
    pub(super) fn read(ask: &Ask, mut message: Members) -> Result<Self, Problem> {
        members::require_schema(&mut message, SCHEMA)?;
        let mut wish = Self { external_id: Some(None), ..Self::default() };
        for (name, value) in message.rest() {
            let ignored = READ_ONLY.contains(&name.as_str()) || name.starts_with(wish::EXTENSIONS);
            if !ignored && !wish.set(ask, None, &name, (None, None), Do::Replace(value))? {
                let detail = format!("`{}` is not known", members::shown(&name));
                return Err(fault(Fault::Syntax, detail));
            }
        }
        if wish.display_name.is_none() {
            return Err(fault(Fault::Value, "`displayName` is missing"));
        }
        Ok(wish)
    }

    /// Does something with an attribute; `false` when it is not known. `team` is the group as it is, if it is.
    pub(super) fn set(
        &mut self,
        ask: &Ask,
        team: Option<&Team<'_>>,
        name: &str,
        (filter, part): (Option<&Filter>, Option<&str>),
        what: Do,
    ) -> Result<bool, Problem> {
        if READ_ONLY.contains(&name) {
            return Err(fault(Fault::Mutability, format!("`{name}` is read only")));
        }
        match (name, part) {
            ("displayname", None) => {
                let told = members::text("displayName", what.value())?;
                let required = || fault(Fault::Mutability, "`displayName` is always there");
                self.display_name = Some(told.ok_or_else(required)?);
            }
            ("externalid", None) => self.external_id = Some(members::text("externalId", what.value())?),
            ("members", None) => self.set_members(ask, team, filter, what)?,
            ("members", Some(part)) => return Err(wish::no_part("members", part)),
            (name, _) => return Ok(name == "schemas"),
        }
        Ok(true)
    }

    fn set_members(
        &mut self,
        ask: &Ask,
        team: Option<&Team<'_>>,
        filter: Option<&Filter>,
        what: Do,
    ) -> Result<(), Problem> {
        match (filter, what) {
            (None, Do::Add(value)) => self.members.add(named(ask, value)?),
            (None, Do::Replace(value)) => self.members = MemberChange::Replace(named(ask, value)?),
            (None, Do::Remove) => self.members = MemberChange::Replace(BTreeSet::new()),
            (None, Do::RemoveThese(value)) => self.members.remove(ids(value)?),
            (Some(filter), Do::Remove | Do::RemoveThese(_)) => {
                let mut fit: BTreeSet<UserId> = team
                    .into_iter()
                    .flat_map(Team::persons)
                    .filter(|user| fits(filter, &Member(*user)))
                    .collect();
                // Who was added by the same patch is in it by now.
                fit.extend(self.members.added().filter(|user| fits(filter, &Member(*user))));
                self.members.remove(fit);
            }
            (Some(_), Do::Add(_) | Do::Replace(_)) => {
                return Err(fault(Fault::Path, "members are added and removed, never changed"));
            }
        }
        Ok(())
    }

    /// The group this makes.
    ///
    /// # Errors
    /// `invalidValue`.
    pub(super) fn group(self) -> Result<NewGroup, Problem> {
        let name = members::read("displayName", self.display_name.as_deref())?;
        Ok(NewGroup {
            name: name.ok_or_else(|| fault(Fault::Value, "`displayName` is missing"))?,
            external_id: members::read("externalId", self.external_id.flatten().as_deref())?,
            members: self.members.added().collect(),
        })
    }

    /// What changes of a group.
    ///
    /// # Errors
    /// `invalidValue`.
    pub(super) fn changes(self) -> Result<GroupChange, Problem> {
        let external_id = self.external_id.map(|id| members::read("externalId", id.as_deref()));
        Ok(GroupChange {
            name: members::read::<DisplayName>("displayName", self.display_name.as_deref())?,
            external_id: external_id.transpose()?,
            members: self.members,
            seen: None,
        })
    }
}

/// The members a message names.
fn named(ask: &Ask, value: Value) -> Result<BTreeSet<UserId>, Problem> {
    let ids = ids(value)?;
    let known = |user: &UserId| ask.policy.user(*user).is_some_and(|user| is_in_directory(&user));
    match ids.iter().find(|user| !known(user)) {
        None => Ok(ids),
        Some(user) => Err(fault(Fault::Value, format!("there is no user {user}"))),
    }
}

fn ids(value: Value) -> Result<BTreeSet<UserId>, Problem> {
    let id = |value| {
        let mut entry = members::object("members", value)?;
        let kind =
            entry.take("type").map(|value| members::text("members.type", value)).transpose()?.flatten();
        if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case(USER)) {
            return Err(fault(Fault::Value, "members are users: groups do not nest"));
        }
        let id =
            entry.take("value").map(|value| members::text("members.value", value)).transpose()?.flatten();
        let id = id.and_then(|text| exact_id(&text)).map(UserId::new);
        id.ok_or_else(|| fault(Fault::Value, "a member's `value` is the id of a user"))
    };
    members::several(value).into_iter().map(id).collect()
}

/// An id, written as this side writes it: ids are compared exactly.
pub(super) fn exact_id(text: &str) -> Option<uuid::Uuid> {
    uuid::Uuid::try_parse(text).ok().filter(|id| id.to_string() == text)
}
