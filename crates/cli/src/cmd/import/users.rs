//! Users out of a file. Never with a password: whoever is imported is given a way to sign in afterwards.

use super::{How, Kind, report::Told};
use crate::{client::route, exit::Outcome};
use charter_events::{DisplayName, ExternalId, Slug, UserKind};
use charter_http::dto::{UserCreate, UserPatch};
use serde::Deserialize;
use serde_json::Value;

/// Imports users.
pub(super) struct Users;

/// One user.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    username: Slug,
    #[serde(default)]
    kind: Option<UserKind>,
    #[serde(default)]
    display_name: Option<DisplayName>,
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    login_name: Option<String>,
    #[serde(default)]
    external_id: Option<ExternalId>,
}

impl Kind for Users {
    type Line = Line;
    const WHAT: &'static str = "users";
    const MEMBERS: &'static [&'static str] =
        &["username", "kind", "display_name", "email", "login_name", "external_id"];
    const LISTS: &'static [&'static str] = &[];

    fn name(line: &Line) -> String {
        line.username.to_string()
    }

    fn unique(line: &Line) -> Option<String> {
        Some(line.username.to_string())
    }

    async fn carry_out(&mut self, how: &How, line: &Line) -> Outcome<Told> {
        let at = route(&["users", line.username.as_str()])?;
        let seen = match how.client.get(&at, &[]).await {
            Ok(seen) => seen,
            Err(failure) if failure.status == Some(404) => return create(how, line).await,
            Err(failure) => return Err(failure),
        };
        // By this name another may be known elsewhere; then the server says that it is taken.
        if seen.body.get("username").and_then(Value::as_str) != Some(line.username.as_str()) {
            return create(how, line).await;
        }
        let differing = line.differing(&seen.body);
        if differing.is_empty() {
            return Ok(Told::unchanged());
        }
        if !how.update {
            return Ok(Told::differs(&differing));
        }
        let patch = UserPatch {
            kind: line.kind,
            display_name: line.display_name.clone().map(Some),
            email: line.email.clone().map(Some),
            login_name: line.login_name.clone().map(Some),
            external_id: line.external_id.clone().map(Some),
            ..UserPatch::default()
        };
        how.did(how.client.patch(&at, &seen, &patch).await)?;
        Ok(Told::changed(&differing))
    }
}

async fn create(how: &How, line: &Line) -> Outcome<Told> {
    let body = UserCreate {
        username: line.username.clone(),
        kind: line.kind,
        display_name: line.display_name.clone(),
        email: line.email.clone(),
        login_name: line.login_name.clone(),
        external_id: line.external_id.clone(),
        password: None,
    };
    how.did(how.client.post("/users", &body).await)?;
    Ok(Told::created())
}

impl Line {
    /// The members the file names that are otherwise at the server.
    fn differing(&self, there: &Value) -> Vec<String> {
        let kind = self.kind.map(|kind| match kind {
            UserKind::Person => "person".to_owned(),
            UserKind::Service => "service".to_owned(),
        });
        let named = [
            ("kind", kind),
            ("display_name", self.display_name.as_ref().map(ToString::to_string)),
            ("email", self.email.clone()),
            ("login_name", self.login_name.clone()),
            ("external_id", self.external_id.as_ref().map(ToString::to_string)),
        ];
        let there = |member: &str| there.get(member).and_then(Value::as_str).map(str::to_owned);
        named
            .into_iter()
            .filter(|(member, value)| value.is_some() && *value != there(member))
            .map(|(member, _)| member.to_owned())
            .collect()
    }
}
