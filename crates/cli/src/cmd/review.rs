//! `charter what USER --all`: everything somebody has and from where, as one report for an access review. Gathered by
//! the questions anybody may ask one by one, so it shows no more than whoever asks may see; what was not shown is said.

mod print;

use super::{common::Then, shapes};
use crate::{
    app::App,
    client::{Client, route},
    exit::{Exit, Failure, Outcome},
};
use charter_http::dto::EffectiveRequest;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The most rows of one list in a report.
const ROWS_MAX: usize = 10_000;
/// The most places whose permissions are asked for.
const PLACES_MAX: usize = 1_000;
/// How often a report is begun anew because something changed while it was gathered.
const TRIES_MAX: usize = 3;

/// Gathers and prints it.
pub(super) async fn run(app: &App, user: &str, then: Then) -> Outcome {
    let client = app.client()?;
    let mut report = gathered(app, &client, user, then).await?;
    let mut tries = 1;
    while report.versions.len() > 1 && tries < TRIES_MAX {
        report = gathered(app, &client, user, then).await?;
        tries += 1;
    }
    if let (Some(first), Some(last)) = (report.versions.first(), report.versions.last())
        && first != last
    {
        let why = format!("one state: something changed between versions {first} and {last}");
        report.not_shown.insert(why);
    }
    print::report(app, &report)?;
    Ok(Exit::Done)
}

/// What was found.
#[derive(Debug, Default)]
struct Report {
    user: Value,
    memberships: Vec<Value>,
    /// Each with `through`: the group's slug, or null for his own.
    grants: Vec<Value>,
    roles: Vec<Value>,
    /// Each with the place and the permissions there that are allowed or denied.
    places: Vec<Value>,
    owned: Vec<Value>,
    tokens: Vec<Value>,
    /// What is missing from the report, and why.
    not_shown: BTreeSet<String>,
    /// The versions the permissions were answered at; more than one: something changed meanwhile.
    versions: BTreeSet<u64>,
    at: Value,
}

impl Report {
    /// A part of the report; where it takes a permission the caller lacks, the report says so and goes on.
    fn part<T: Default>(&mut self, what: &str, answered: Outcome<T>) -> Outcome<T> {
        match answered {
            Ok(part) => Ok(part),
            Err(failure) if matches!(failure.status, Some(403 | 404)) => {
                let why = failure.hints.first().map_or(failure.message.as_str(), String::as_str);
                self.not_shown.insert(format!("{what}: {why}"));
                Ok(T::default())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Lists leave out what the caller may not see without a word: says for which that may be so.
    fn narrow(&mut self, me: &Value) {
        let permissions = me.get("permissions").and_then(Value::as_array);
        let holds = |key: &str| permissions.is_some_and(|keys| keys.iter().any(|held| held == key));
        if !holds("core.grant.read") {
            self.lacks("grants where you may not see them: it takes core.grant.read, platform-wide");
        }
        if me.get("administrator") != Some(&Value::Bool(true)) {
            self.lacks("owned objects that you may not see");
        }
    }

    fn lacks(&mut self, what: &str) {
        self.not_shown.insert(what.to_owned());
    }

    /// Rows of a list, and that there are more.
    async fn rows(
        &mut self,
        client: &Client,
        what: &str,
        path: &str,
        query: &[(&str, String)],
    ) -> Outcome<Vec<Value>> {
        let listed = client.list(path, query, ROWS_MAX).await.map(|found| (found.rows, found.more));
        let (rows, more) = self.part(what, listed)?;
        if more {
            self.not_shown.insert(format!("{what}: more than the first {ROWS_MAX}"));
        }
        Ok(rows)
    }
}

async fn gathered(app: &App, client: &Client, user: &str, then: Then) -> Outcome<Report> {
    let mut report = Report::default();
    let (own, name) = who(client, &mut report, user, then).await?;
    grants(client, &mut report, &name, then).await?;
    roles(client, &mut report, then).await?;
    if then.is_now() {
        let query = [("owner", name.clone())];
        report.owned = report.rows(client, "owned objects", "/objects", &query).await?;
    } else {
        report.not_shown.insert("owned objects: only the present is known".to_owned());
    }
    places(app, client, &mut report, (!own).then_some(name.as_str()), then).await?;
    if !own {
        report.not_shown.insert("API tokens: everybody sees his own only".to_owned());
    } else if then.is_now() {
        let tokens = client.whole("/user/me/tokens").await;
        report.tokens = report.part("API tokens", tokens)?;
    } else {
        report.not_shown.insert("API tokens: only the present is known".to_owned());
    }
    Ok(report)
}

/// Whom the report is about: whether it is the caller himself, and by which name to ask about him.
async fn who(client: &Client, report: &mut Report, user: &str, then: Then) -> Outcome<(bool, String)> {
    let me = client.get("/user/me", &[]).await?.body;
    let my = |member: &str| me.pointer(&format!("/user/{member}")).and_then(Value::as_str);
    let wanted = if user == "me" { my("id").unwrap_or(user) } else { user };
    let is_me = |name: &str| my("id") == Some(name) || my("username") == Some(name);
    let shown = client.get(&route(&["users", wanted])?, &then.query()).await;
    match shown {
        Ok(shown) => {
            report.user = shown.body;
            match report.user.get("groups").and_then(Value::as_array).cloned() {
                Some(groups) => report.memberships = groups,
                None => report.lacks("memberships, and grants through them: it takes core.group.read"),
            }
        }
        Err(failure) if failure.status == Some(403) => {
            report.part::<()>("account and memberships", Err(failure))?;
            report.user = if is_me(wanted) {
                me.get("user").cloned().unwrap_or_default()
            } else {
                json!({"username": wanted})
            };
        }
        Err(failure) => return Err(failure),
    }
    report.narrow(&me);
    let id = report.user.get("id").and_then(Value::as_str).unwrap_or(wanted).to_owned();
    Ok((is_me(&id), id))
}

/// His own grants, then those of his groups.
async fn grants(client: &Client, report: &mut Report, name: &str, then: Then) -> Outcome<()> {
    let slugs = report.memberships.iter().filter_map(|group| group.get("slug").and_then(Value::as_str));
    let slugs: Vec<String> = slugs.map(str::to_owned).collect();
    let subjects = std::iter::once((format!("user:{name}"), Value::Null))
        .chain(slugs.into_iter().map(|slug| (format!("group:{slug}"), Value::from(slug))));
    for (subject, through) in subjects {
        let mut query = then.query();
        query.push(("subject", subject));
        for mut grant in report.rows(client, "grants", "/grants", &query).await? {
            if let Some(members) = grant.as_object_mut() {
                members.insert("through".to_owned(), through.clone());
            }
            report.grants.push(grant);
        }
    }
    Ok(())
}

/// What the roles hold that those grants give.
async fn roles(client: &Client, report: &mut Report, then: Then) -> Outcome<()> {
    let slugs = report.grants.iter().filter_map(|grant| grant.pointer("/role/slug").and_then(Value::as_str));
    let slugs: BTreeSet<String> = slugs.map(str::to_owned).collect();
    for slug in slugs {
        let role = client.get(&route(&["roles", &slug])?, &then.query()).await.map(|answer| answer.body);
        let role = report.part("roles' contents", role)?;
        if !role.is_null() {
            report.roles.push(role);
        }
    }
    Ok(())
}

/// What he may do platform-wide, at each place a grant of his stands, and on what he owns.
async fn places(
    app: &App,
    client: &Client,
    report: &mut Report,
    user: Option<&str>,
    then: Then,
) -> Outcome<()> {
    let scopes = report.grants.iter().filter_map(|grant| grant.pointer("/scope/object"));
    let objects: BTreeSet<String> =
        scopes.chain(&report.owned).map(|object| shapes::OBJECT_REF.name_of(object)).collect();
    if objects.len() > PLACES_MAX {
        report.not_shown.insert(format!("permissions: at more than the first {PLACES_MAX} objects"));
    }
    let bar = app.out.progress("asking", Some(objects.len().min(PLACES_MAX) as u64));
    let objects = std::iter::once(None).chain(objects.into_iter().take(PLACES_MAX).map(Some));
    for (done, object) in (0..).zip(objects) {
        let place = object.clone().unwrap_or_else(|| "global".to_owned());
        let request = EffectiveRequest { user: user.map(str::to_owned), object };
        let answer = client.ask("/effective", &then.query(), &request).await.map(|answer| answer.body);
        let answer = report.part(&format!("permissions at {place}"), answer)?;
        bar.at(done);
        let Some(permissions) = answer.get("permissions").and_then(Value::as_array) else { continue };
        report.versions.extend(answer.get("policy_version").and_then(Value::as_u64));
        report.at = answer.get("at").cloned().unwrap_or_default();
        let is_set = |row: &&Value| row.get("state").and_then(Value::as_str) != Some("not_set");
        let permissions: Vec<Value> = permissions.iter().filter(is_set).cloned().collect();
        report.places.push(json!({"place": place, "permissions": permissions}));
    }
    bar.finish();
    if report.places.is_empty() {
        return Err(Failure::new(Exit::Denied, "nothing of this user may be shown to you"));
    }
    Ok(())
}

impl Report {
    /// The report as one document.
    fn document(&self) -> Value {
        let mut members = Map::new();
        members.insert("user".to_owned(), self.user.clone());
        members.insert("policy_version".to_owned(), self.versions.last().copied().into());
        members.insert("at".to_owned(), self.at.clone());
        for (name, rows) in [
            ("memberships", &self.memberships),
            ("grants", &self.grants),
            ("roles", &self.roles),
            ("places", &self.places),
            ("owned", &self.owned),
            ("tokens", &self.tokens),
        ] {
            members.insert(name.to_owned(), rows.clone().into());
        }
        members.insert("not_shown".to_owned(), self.not_shown.iter().cloned().collect());
        Value::Object(members)
    }
}
