//! Grants out of a file. One that stands already is left as it is.

use super::{How, Kind, report::Told};
use crate::{cmd::grant::subject_ref, exit::Outcome};
use charter_events::{Affects, ChildTypes, Effect, PermissionKey, Timestamp};
use charter_http::dto::GrantCreate;
use serde::Deserialize;

/// Imports grants.
pub(super) struct Grants;

/// One grant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    subject: String,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    permissions: Option<Vec<PermissionKey>>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    not_before: Option<Timestamp>,
    #[serde(default)]
    expires_at: Option<Timestamp>,
    #[serde(default)]
    affects: Option<Affects>,
    #[serde(default)]
    child_types: Option<ChildTypes>,
}

impl Line {
    fn request(&self) -> GrantCreate {
        GrantCreate {
            subject: subject_ref(&self.subject),
            role: self.role.clone(),
            permissions: self.permissions.clone(),
            scope: self.scope.clone().unwrap_or_else(|| "global".to_owned()),
            effect: self.effect,
            not_before: self.not_before,
            expires_at: self.expires_at,
            affects: self.affects,
            child_types: self.child_types,
        }
    }
}

impl Kind for Grants {
    type Line = Line;
    const WHAT: &'static str = "grants";
    const MEMBERS: &'static [&'static str] = &[
        "subject",
        "role",
        "permissions",
        "scope",
        "effect",
        "not_before",
        "expires_at",
        "affects",
        "child_types",
    ];
    const LISTS: &'static [&'static str] = &["permissions"];

    fn name(line: &Line) -> String {
        let GrantCreate { subject, role, permissions, scope, .. } = line.request();
        let keys = permissions.unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>();
        let what = role.map_or_else(|| keys.join(" "), |role| format!("role {role}"));
        format!("{subject} {what} on {scope}")
    }

    fn unique(_: &Line) -> Option<String> {
        None
    }

    async fn carry_out(&mut self, how: &How, line: &Line) -> Outcome<Told> {
        match how.did(how.client.post("/grants", &line.request()).await) {
            Err(failure) if failure.code.as_deref() == Some("already_granted") => Ok(Told::unchanged()),
            sent => sent.map(|()| Told::created()),
        }
    }
}
