//! A person as a SCIM user: what is shown of him, and what filters ask of him.
//!
//! Of the standard's user is shown what a profile holds: `userName` (the login name; the username of who has none),
//! `displayName`, one address, `externalId`, `active`.

use super::{
    answer,
    facts::{Fact, Facts, fits},
    filter::{Elements, Field, Filter},
    shown::Shown,
};
use crate::{ask::Ask, problem::Problem};
use charter_events::{GroupId, Profile, Scope};
use charter_policy::{GroupView, Policy, UserStatus, UserView};
use serde_json::{Map, Value, json};

/// The schema of a user.
pub(super) const SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
/// The type every address has here.
pub(super) const WORK: &str = "work";

/// A person, and what is known of him.
pub(super) struct Person<'a> {
    pub(super) view: UserView<'a>,
    pub(super) profile: Option<&'a Profile>,
    /// His groups, where the caller may see groups.
    pub(super) groups: Vec<GroupView<'a>>,
}

/// The name he signs in with.
pub(super) fn user_name(profile: &Profile) -> &str {
    profile.login_name.as_deref().unwrap_or(profile.username.as_str())
}

/// Whether an account works, as far as a provider says so: who is invited is not stopped.
pub(super) fn is_active(view: &UserView<'_>) -> bool {
    view.status != UserStatus::Suspended
}

/// The path of a user.
pub(super) fn location(id: impl std::fmt::Display) -> String {
    format!("{}/Users/{id}", super::ROOT)
}

impl<'a> Person<'a> {
    pub(super) fn of(
        policy: &'a Policy,
        view: UserView<'a>,
        profile: Option<&'a Profile>,
        groups: bool,
    ) -> Self {
        let groups = if groups {
            policy.groups_of(view.id).filter_map(|group: GroupId| policy.group(group)).collect()
        } else {
            Vec::new()
        };
        Self { view, profile, groups }
    }

    fn groups_shown(&self) -> Value {
        let group = |group: &GroupView<'_>| {
            json!({
                "value": group.id.to_string(),
                "$ref": super::group::location(group.id),
                "display": group.name.to_string(),
                "type": "direct",
            })
        };
        self.groups.iter().map(group).collect()
    }

    /// His entity tag.
    pub(super) fn tag(&self) -> String {
        let beside = (!self.groups.is_empty()).then(|| self.groups_shown());
        answer::tag(self.view.changed_at, beside.as_ref())
    }

    /// The whole of him.
    ///
    /// # Errors
    /// 503 while his names can't be opened: a provider would take an answer without them for what is there.
    pub(super) fn shown(&self, shown: &Shown) -> Result<Value, Problem> {
        let profile = self
            .profile
            .ok_or_else(|| Problem::overloaded("unavailable", "the names can't be opened now"))?;
        let mut user = Map::new();
        let id = self.view.id.to_string();
        user.insert("schemas".to_owned(), json!([SCHEMA]));
        user.insert("id".to_owned(), id.clone().into());
        user.insert("userName".to_owned(), user_name(profile).into());
        user.insert("active".to_owned(), is_active(&self.view).into());
        if let Some(name) = &profile.display_name {
            user.insert("displayName".to_owned(), name.to_string().into());
        }
        if let Some(external) = &profile.external_id {
            user.insert("externalId".to_owned(), external.to_string().into());
        }
        if let Some(email) = &profile.email {
            user.insert("emails".to_owned(), json!([{"value": email, "type": WORK}]));
        }
        if !self.groups.is_empty() {
            user.insert("groups".to_owned(), self.groups_shown());
        }
        let meta = json!({
            "resourceType": "User",
            "created": self.view.created_at,
            "location": location(&id),
            "version": self.tag(),
        });
        user.insert("meta".to_owned(), meta);
        Ok(shown.of(Value::Object(user)))
    }
}

impl Facts for Person<'_> {
    fn facts(&self, field: Field) -> Vec<Fact<'_>> {
        let text = |text: Option<&'_ str>| text.map(|text| Fact::text(text.to_owned())).into_iter().collect();
        let profile = self.profile;
        match field {
            Field::Id => vec![Fact::text(self.view.id.to_string())],
            Field::UserName => text(profile.map(user_name)),
            Field::DisplayName => {
                text(profile.and_then(|p| p.display_name.as_ref()).map(|name| name.as_str()))
            }
            Field::ExternalId => text(profile.and_then(|p| p.external_id.as_ref()).map(|id| id.as_str())),
            Field::Email | Field::EmailType | Field::EmailPrimary => {
                Address(profile.and_then(|p| p.email.as_deref())).values(field)
            }
            Field::Active => vec![Fact::Bool(is_active(&self.view))],
            Field::Groups => self.groups.iter().map(|group| Fact::text(group.id.to_string())).collect(),
            Field::GroupsDisplay => {
                self.groups.iter().map(|group| Fact::text(group.name.to_string())).collect()
            }
            Field::ResourceType => vec![Fact::text("User")],
            Field::Created => vec![Fact::Time(self.view.created_at)],
            Field::Members | Field::MembersType => Vec::new(),
        }
    }

    fn has(&self, elements: Elements, of: &Filter) -> bool {
        match elements {
            Elements::Emails => {
                let address = Address(self.profile.and_then(|p| p.email.as_deref()));
                address.0.is_some() && fits(of, &address)
            }
            Elements::Groups => self.groups.iter().any(|group| fits(of, &Joined(group))),
            Elements::Members => false,
        }
    }
}

/// An address, or none.
pub(super) struct Address<'a>(pub(super) Option<&'a str>);

impl Address<'_> {
    fn values<'f>(&self, field: Field) -> Vec<Fact<'f>> {
        let Some(address) = self.0 else { return Vec::new() };
        match field {
            Field::Email => vec![Fact::text(address.to_owned())],
            Field::EmailType => vec![Fact::text(WORK)],
            Field::EmailPrimary => vec![Fact::Bool(true)],
            _ => Vec::new(),
        }
    }
}

impl Facts for Address<'_> {
    fn facts(&self, field: Field) -> Vec<Fact<'_>> {
        self.values(field)
    }

    fn has(&self, _: Elements, _: &Filter) -> bool {
        false
    }
}

/// One of a person's groups.
struct Joined<'a>(&'a GroupView<'a>);

impl Facts for Joined<'_> {
    fn facts(&self, field: Field) -> Vec<Fact<'_>> {
        match field {
            Field::Groups => vec![Fact::text(self.0.id.to_string())],
            Field::GroupsDisplay => vec![Fact::text(self.0.name.to_string())],
            _ => Vec::new(),
        }
    }

    fn has(&self, _: Elements, _: &Filter) -> bool {
        false
    }
}

/// Whether the caller may see who is in which group.
pub(super) fn sees_groups(ask: &Ask) -> bool {
    ask.may_core("core.group.read", Scope::Global)
}
