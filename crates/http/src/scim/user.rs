//! A person as a SCIM user: what is shown of him, what filters ask of him, and what a message says he should be.
//!
//! Of the standard's user is kept what a profile holds: `userName` (the login name; the username of who has none),
//! `displayName`, one address, `externalId`, `active`. What else the standard knows is taken and not kept.

use super::{
    answer,
    facts::{Fact, Facts, fits},
    fault::{Fault, fault},
    filter::{Elements, Field, Filter},
    members::{self, Members},
    shown::Shown,
};
use crate::{ask::Ask, problem::Problem};
use charter_control::{AccountChange, NewAccount, ProfilePatch};
use charter_events::{GroupId, Profile, Scope};
use charter_policy::{GroupView, Policy, UserStatus, UserView};
use serde_json::{Map, Value, json};

/// The schema of a user.
pub(super) const SCHEMA: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
/// The schemas that extend it begin so; what is in them is not kept.
pub(super) const EXTENSIONS: &str = "urn:ietf:params:scim:schemas:extension:";
/// The type every address has here.
const WORK: &str = "work";
/// What else the standard's user has: taken and not kept.
pub(super) const NOT_KEPT: [&str; 16] = [
    "nickname",
    "profileurl",
    "title",
    "usertype",
    "preferredlanguage",
    "locale",
    "timezone",
    "password",
    "phonenumbers",
    "ims",
    "photos",
    "addresses",
    "entitlements",
    "roles",
    "x509certificates",
    "schemas",
];
/// What only this side says.
const READ_ONLY: [&str; 3] = ["id", "meta", "groups"];

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
struct Address<'a>(Option<&'a str>);

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

/// What a person should be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wish {
    user_name: Option<String>,
    display_name: Option<String>,
    external_id: Option<String>,
    email: Option<String>,
    active: Option<bool>,
    /// What was said of `name`, which is not kept itself.
    name: Name,
    /// How he is shown was said outright.
    says_display: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Name {
    formatted: Option<String>,
    given: Option<String>,
    family: Option<String>,
}

impl Name {
    fn set(&mut self, part: &str, value: Value) -> Result<(), Problem> {
        match part {
            "formatted" => self.formatted = members::text("name.formatted", value)?,
            "givenname" => self.given = members::text("name.givenName", value)?,
            "familyname" => self.family = members::text("name.familyName", value)?,
            "middlename" | "honorificprefix" | "honorificsuffix" => {}
            _ => {
                let detail = format!("`name.{}` is not known", members::shown(part));
                return Err(fault(Fault::Path, detail));
            }
        }
        Ok(())
    }

    /// The name to show somebody by.
    fn whole(&self) -> Option<String> {
        let both = || match (&self.given, &self.family) {
            (Some(given), Some(family)) => Some(format!("{given} {family}")),
            _ => None,
        };
        self.formatted
            .clone()
            .or_else(both)
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
    }
}

/// What a patch does with an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Do {
    Add(Value),
    Replace(Value),
    Remove,
    /// Only these values of a list.
    RemoveThese(Value),
}

impl Do {
    /// What the attribute is from now on; null when it is removed.
    pub(super) fn value(self) -> Value {
        match self {
            Self::Add(value) | Self::Replace(value) => value,
            Self::Remove | Self::RemoveThese(_) => Value::Null,
        }
    }
}

impl Wish {
    /// As he is.
    pub(super) fn present(view: &UserView<'_>, profile: &Profile) -> Self {
        Self {
            user_name: Some(user_name(profile).to_owned()),
            display_name: profile.display_name.as_ref().map(ToString::to_string),
            external_id: profile.external_id.as_ref().map(ToString::to_string),
            email: profile.email.clone(),
            active: Some(is_active(view)),
            name: Name::default(),
            says_display: false,
        }
    }

    /// As a message says he is.
    ///
    /// # Errors
    /// `invalidSyntax` for a member nobody knows, `invalidValue` for one that is not what it has to be.
    pub(super) fn read(mut message: Members) -> Result<Self, Problem> {
        members::require_schema(&mut message, SCHEMA)?;
        let mut wish = Self::default();
        for (name, value) in message.rest() {
            let absent = name == "active" && value.is_null();
            let ignored = absent || READ_ONLY.contains(&name.as_str()) || name.starts_with(EXTENSIONS);
            if !ignored && !wish.set(&name, None, None, Do::Replace(value))? {
                let detail = format!("`{}` is not known", members::shown(&name));
                return Err(fault(Fault::Syntax, detail));
            }
        }
        if wish.user_name.is_none() {
            return Err(fault(Fault::Value, "`userName` is missing"));
        }
        Ok(wish)
    }

    /// Does something with an attribute; `false` when it is not known.
    pub(super) fn set(
        &mut self,
        name: &str,
        filter: Option<&Filter>,
        part: Option<&str>,
        what: Do,
    ) -> Result<bool, Problem> {
        if READ_ONLY.contains(&name) {
            return Err(fault(Fault::Mutability, format!("`{name}` is read only")));
        }
        match (name, part) {
            ("username", None) => {
                let told = members::text("userName", what.value())?;
                self.user_name = Some(told.ok_or_else(|| required("userName"))?);
            }
            ("displayname", None) => {
                self.display_name = members::text("displayName", what.value())?;
                self.says_display = true;
            }
            ("externalid", None) => self.external_id = members::text("externalId", what.value())?,
            ("active", None) => match what.value() {
                Value::Null => return Err(required("active")),
                value => self.active = Some(members::truth("active", &value)?),
            },
            ("emails", part) => self.set_email(filter, part, what)?,
            ("name", Some(part)) => self.name.set(part, what.value())?,
            ("name", None) => match what.value() {
                Value::Null => self.name = Name::default(),
                value => {
                    for (part, value) in members::object("name", value)?.rest() {
                        self.name.set(&part, value)?;
                    }
                }
            },
            (name, _) => return Ok(NOT_KEPT.contains(&name)),
        }
        Ok(true)
    }

    /// One address is kept: the primary one of those that are sent, else one for work, else the first.
    fn set_email(&mut self, filter: Option<&Filter>, part: Option<&str>, what: Do) -> Result<(), Problem> {
        let held = |filter: &Filter, address: &Option<String>| {
            address.is_some() && fits(filter, &Address(address.as_deref()))
        };
        if let Do::RemoveThese(values) = what {
            let (address, _) = chosen(members::several(values))?;
            if address == self.email {
                self.email = None;
            }
            return Ok(());
        }
        if what == Do::Remove {
            match part {
                None | Some("value") if filter.is_none_or(|filter| held(filter, &self.email)) => {
                    self.email = None
                }
                None | Some("value" | "type" | "primary" | "display") => {}
                Some(part) => return Err(no_part("emails", part)),
            }
            return Ok(());
        }
        let adds = matches!(what, Do::Add(_));
        let value = what.value();
        let (address, counts) = match part {
            Some("value") => (members::text("emails.value", value)?, true),
            // Every address is the primary one, for work.
            Some("type" | "primary" | "display") => return Ok(()),
            Some(part) => return Err(no_part("emails", part)),
            None => chosen(members::several(value))?,
        };
        if let Some(filter) = filter
            && !held(filter, &self.email)
            && !held(filter, &address)
        {
            return Err(fault(Fault::NoTarget, "no address fits the path"));
        }
        // One more address takes the place of the one that is kept only if it is to be the one people are reached by.
        if adds && filter.is_none() && self.email.is_some() && !counts {
            return Ok(());
        }
        self.email = address;
        Ok(())
    }

    /// How he is shown, where only his name was said.
    fn settled(mut self) -> Self {
        if !self.says_display
            && let Some(name) = self.name.whole()
        {
            self.display_name = Some(name);
        }
        self
    }

    /// The account this makes.
    ///
    /// # Errors
    /// `invalidValue`.
    pub(super) fn account(self) -> Result<NewAccount, Problem> {
        let Self { user_name, display_name, external_id, email, active, .. } = self.settled();
        Ok(NewAccount {
            login_name: user_name.ok_or_else(|| required("userName"))?,
            display_name: members::read("displayName", display_name.as_deref())?,
            email,
            external_id: members::read("externalId", external_id.as_deref())?,
            active: active.unwrap_or(true),
        })
    }

    /// What changes of an account; none when nothing does.
    ///
    /// # Errors
    /// `invalidValue`.
    pub(super) fn changes(
        self,
        view: &UserView<'_>,
        profile: &Profile,
    ) -> Result<Option<AccountChange>, Problem> {
        let before = Self::present(view, profile);
        let now = self.settled();
        let mut names = ProfilePatch::default();
        if now.user_name != before.user_name {
            names.login_name = Some(now.user_name);
        }
        if now.display_name != before.display_name {
            names.display_name = Some(members::read("displayName", now.display_name.as_deref())?);
        }
        if now.external_id != before.external_id {
            names.external_id = Some(members::read("externalId", now.external_id.as_deref())?);
        }
        if now.email != before.email {
            names.email = Some(now.email);
        }
        let active = now.active.filter(|active| Some(*active) != before.active);
        let same = active.is_none()
            && names.login_name.is_none()
            && names.display_name.is_none()
            && names.external_id.is_none()
            && names.email.is_none();
        Ok((!same).then_some(AccountChange { names, active, seen: None }))
    }
}

fn required(name: &str) -> Problem {
    fault(Fault::Mutability, format!("`{name}` is always there"))
}

pub(super) fn no_part(name: &str, part: &str) -> Problem {
    fault(Fault::Path, format!("`{name}.{}` is not known", members::shown(part)))
}

/// The address that is kept of several, and whether it is to be the one people are reached by.
fn chosen(values: Vec<Value>) -> Result<(Option<String>, bool), Problem> {
    let mut best: Option<(u8, String)> = None;
    for value in values {
        let mut entry = members::object("emails", value)?;
        let address = entry.take("value").map(|value| members::text("emails.value", value));
        let Some(address) = address.transpose()?.flatten() else {
            return Err(fault(Fault::Value, "an address has a `value`"));
        };
        let primary = match entry.take("primary") {
            None | Some(Value::Null) => false,
            Some(value) => members::truth("emails.primary", &value)?,
        };
        let kind = entry.take("type").map(|value| members::text("emails.type", value));
        let kind = kind.transpose()?.flatten();
        let rank = match kind.as_deref() {
            _ if primary => 3,
            Some(kind) if kind.eq_ignore_ascii_case(WORK) => 2,
            None => 1,
            Some(_) => 0,
        };
        if best.as_ref().is_none_or(|(known, _)| rank > *known) {
            best = Some((rank, address));
        }
    }
    let counts = best.as_ref().is_none_or(|(rank, _)| *rank > 0);
    Ok((best.map(|(_, address)| address), counts))
}

/// Whether the caller may see who is in which group.
pub(super) fn sees_groups(ask: &Ask) -> bool {
    ask.may_core("core.group.read", Scope::Global)
}
