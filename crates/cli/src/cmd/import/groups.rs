//! Groups and their members out of a file. Members are only added: who is not in the file stays.

use super::{How, Kind, report::Told};
use crate::{
    client::route,
    exit::{Failure, Outcome},
};
use charter_events::{DisplayName, Slug};
use charter_http::dto::{GroupCreate, GroupPatch};
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The most members of one group that are read.
const MEMBERS_MAX: usize = 100_000;

/// Imports groups. A group may stand in several lines, each with some of its members.
#[derive(Default)]
pub(super) struct Groups {
    /// Who is in the groups met so far, by username and by id.
    members: HashMap<Slug, HashSet<String>>,
}

/// One group, or some members of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    slug: Slug,
    #[serde(default)]
    name: Option<DisplayName>,
    #[serde(default)]
    members: Vec<String>,
}

impl Kind for Groups {
    type Line = Line;
    const WHAT: &'static str = "groups";
    const MEMBERS: &'static [&'static str] = &["slug", "name", "members"];
    const LISTS: &'static [&'static str] = &["members"];

    fn name(line: &Line) -> String {
        line.slug.to_string()
    }

    fn unique(_: &Line) -> Option<String> {
        None
    }

    async fn carry_out(&mut self, how: &How, line: &Line) -> Outcome<Told> {
        let told = self.group(how, line).await?;
        let mut added = Vec::new();
        for member in &line.members {
            match self.add(how, &line.slug, member).await {
                Ok(true) => added.push(member.clone()),
                Ok(false) => {}
                Err(failure) => return Err(about(member, &added, failure)),
            }
        }
        let added = (!added.is_empty()).then(|| format!("members: {}", added.join(", ")));
        Ok(match added {
            Some(added) if told == Told::unchanged() => Told::changed(&[added]),
            added => told.with(added),
        })
    }
}

/// Says whom it is about, and who was added before him.
fn about(member: &str, added: &[String], failure: Failure) -> Failure {
    let before = if added.is_empty() { String::new() } else { format!("; added: {}", added.join(", ")) };
    Failure { message: format!("{member}: {}{before}", failure.message), ..failure }
}

impl Groups {
    /// The group itself.
    async fn group(&mut self, how: &How, line: &Line) -> Outcome<Told> {
        let at = route(&["groups", line.slug.as_str()])?;
        let seen = match how.client.get(&at, &[]).await {
            Ok(seen) => seen,
            Err(failure) if failure.status == Some(404) => {
                if self.members.contains_key(&line.slug) {
                    // An earlier line of a dry run would have created it.
                    return Ok(Told::unchanged());
                }
                let body = GroupCreate { slug: line.slug.clone(), name: line.name.clone() };
                how.did(how.client.post("/groups", &body).await)?;
                self.members.insert(line.slug.clone(), HashSet::new());
                return Ok(Told::created());
            }
            Err(failure) => return Err(failure),
        };
        let name = line.name.as_ref().map(ToString::to_string);
        if name.is_none() || name.as_deref() == seen.body.get("name").and_then(Value::as_str) {
            return Ok(Told::unchanged());
        }
        let differing = ["name".to_owned()];
        if !how.update {
            return Ok(Told::differs(&differing));
        }
        how.did(how.client.patch(&at, &seen, &GroupPatch { name: line.name.clone() }).await)?;
        Ok(Told::changed(&differing))
    }

    /// Adds one member; whether he was none.
    async fn add(&mut self, how: &How, group: &Slug, member: &str) -> Outcome<bool> {
        if !self.members.contains_key(group) {
            let at = route(&["groups", group.as_str(), "members"])?;
            // Who may add members need not be let read them: then each is sent.
            let rows = match how.client.list(&at, &[], MEMBERS_MAX).await {
                Ok(found) => found.rows,
                Err(failure) if failure.status == Some(403) => Vec::new(),
                Err(failure) => return Err(failure),
            };
            let text = |row: &Value, member: &str| row.get(member).and_then(Value::as_str).map(str::to_owned);
            let names = rows.iter().flat_map(|row| [text(row, "id"), text(row, "username")]).flatten();
            self.members.insert(group.clone(), names.collect());
        }
        let known = self.members.entry(group.clone()).or_default();
        if known.contains(member) {
            return Ok(false);
        }
        // He may be named by an external id; and of a group that is not there yet, a dry run asks for him alone.
        let id = match how.client.get(&route(&["users", member])?, &[]).await {
            Ok(user) => user.body.get("id").and_then(Value::as_str).unwrap_or(member).to_owned(),
            Err(failure) if failure.status == Some(403) => member.to_owned(),
            Err(failure) => return Err(failure),
        };
        if known.contains(&id) {
            return Ok(false);
        }
        let sent =
            how.client.send(Method::PUT, &route(&["groups", group.as_str(), "members", member])?).await;
        match sent {
            Err(failure) if how.dry_run() && failure.status == Some(404) => {}
            sent => how.did(sent)?,
        }
        known.extend([member.to_owned(), id]);
        Ok(true)
    }
}
