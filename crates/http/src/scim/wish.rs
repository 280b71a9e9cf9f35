//! What a message says a person should be, and the account or the change that makes him so.
//!
//! What the standard knows and a profile does not hold is taken and not kept.

use super::{
    facts::fits,
    fault::{Fault, fault},
    filter::Filter,
    members::{self, Members},
    user::{Address, SCHEMA, WORK, is_active, user_name},
};
use crate::problem::Problem;
use charter_control::{AccountChange, NewAccount, ProfilePatch};
use charter_events::Profile;
use charter_policy::UserView;
use serde_json::Value;

/// The schemas that extend it begin so; what is in them is not kept.
pub(super) const EXTENSIONS: &str = "urn:ietf:params:scim:schemas:extension:";
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
