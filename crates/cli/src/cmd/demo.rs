//! `charter demo`: fills an empty installation with an example, through the same API as everybody, and prints
//! questions to try. The example itself is data: `examples/demo.yaml` and two catalogs.

use super::catalog;
use crate::{
    app::App,
    client::{Client, route},
    cmd::common::moment,
    exit::{Exit, Failure, Outcome},
};
use charter_events::{
    Affects, ChildTypes, DisplayName, Effect, ExternalId, ObjectType, PermissionKey, Slug, UserKind,
};
use charter_http::dto::{
    GrantCreate, GroupCreate, InheritanceRequest, ObjectCreate, RoleCreate, TransferRequest, UserCreate,
};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

const CATALOGS: [(&str, &str); 2] = [
    ("minecraft.yaml", include_str!("../../examples/minecraft.yaml")),
    ("factorio.yaml", include_str!("../../examples/factorio.yaml")),
];
const DEMO: &str = include_str!("../../examples/demo.yaml");

/// Nothing to choose.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Demo {
    users: Vec<User>,
    groups: Vec<Group>,
    roles: Vec<RoleCreate>,
    objects: Vec<Object>,
    grants: Vec<Grant>,
    questions: Vec<Question>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct User {
    username: Slug,
    display_name: DisplayName,
    #[serde(default)]
    kind: Option<UserKind>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    slug: Slug,
    name: DisplayName,
    members: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    #[serde(rename = "type")]
    object_type: ObjectType,
    id: ExternalId,
    name: DisplayName,
    #[serde(default, rename = "in")]
    parent: Option<String>,
    #[serde(default)]
    sealed: bool,
    #[serde(default)]
    owner: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    to: String,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    keys: Option<Vec<PermissionKey>>,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    on: Option<String>,
    #[serde(default)]
    affects: Option<Affects>,
    #[serde(default)]
    child_types: Option<ChildTypes>,
    #[serde(default)]
    lasts: Option<String>,
}

/// A question to try, and the exit code its answer has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    ask: String,
    args: Vec<String>,
    exit: u8,
}

/// Creates the example.
pub(crate) async fn run(app: &App, _: Args) -> Outcome {
    let client = app.client()?;
    refuse_unless_empty(&client).await?;
    let demo: Demo = serde_norway::from_str(DEMO)
        .map_err(|error| Failure::error(format!("the example can't be read: {error}")))?;
    for (name, text) in CATALOGS {
        catalog::apply(&client, &catalog::parse(Path::new(name), text.as_bytes())?).await?;
    }
    app.out.note("2 catalogs: minecraft, factorio.");
    people(app, &client, demo.users, demo.groups).await?;
    for role in &demo.roles {
        client.post("/roles", role).await?;
    }
    app.out.note(&format!("{} roles.", demo.roles.len()));
    things(app, &client, demo.objects).await?;
    let count = demo.grants.len();
    for grant in demo.grants {
        client.post("/grants", &grant.request()?).await?;
    }
    app.out.note(&format!("{count} grants, denies among them, and one that ends in three days."));
    show(app, &demo.questions)?;
    Ok(Exit::Done)
}

async fn refuse_unless_empty(client: &Client) -> Outcome<()> {
    for (path, query) in [
        ("/groups", vec![]),
        ("/objects", vec![]),
        ("/permissions", vec![("namespace", "minecraft".to_owned())]),
    ] {
        if !client.list(path, &query, 1).await?.rows.is_empty() {
            return Err(Failure::new(Exit::Conflict, "this installation is not empty").hint(
                "the example goes into a new one: `charter serve --data FOLDER --listen 127.0.0.1:7401`",
            ));
        }
    }
    Ok(())
}

async fn people(app: &App, client: &Client, users: Vec<User>, groups: Vec<Group>) -> Outcome<()> {
    let (user_count, group_count) = (users.len(), groups.len());
    for User { username, display_name, kind } in users {
        let body = UserCreate {
            username,
            kind,
            display_name: Some(display_name),
            email: None,
            login_name: None,
            external_id: None,
            password: None,
        };
        client.post("/users", &body).await?;
    }
    for Group { slug, name, members } in groups {
        client.post("/groups", &GroupCreate { slug: slug.clone(), name: Some(name) }).await?;
        for member in members {
            client.send(Method::PUT, &route(&["groups", slug.as_str(), "members", &member])?).await?;
        }
    }
    app.out.note(&format!("{user_count} users, none of them with a password yet, in {group_count} groups."));
    Ok(())
}

async fn things(app: &App, client: &Client, objects: Vec<Object>) -> Outcome<()> {
    let count = objects.len();
    for Object { object_type, id, name, parent, sealed, owner } in objects {
        let at = route(&["objects", object_type.as_str(), id.as_str()])?;
        client.post("/objects", &ObjectCreate { object_type, name, external_id: Some(id), parent }).await?;
        if sealed {
            client.post(&format!("{at}/inheritance"), &InheritanceRequest { inherits: false }).await?;
        }
        if let Some(owner) = owner {
            client.post(&format!("{at}/transfer"), &TransferRequest { owner }).await?;
        }
    }
    app.out.note(&format!("{count} folders, servers, worlds and factories."));
    Ok(())
}

impl Grant {
    fn request(self) -> Outcome<GrantCreate> {
        Ok(GrantCreate {
            subject: self.to,
            role: self.role,
            permissions: self.keys,
            scope: self.on.unwrap_or_else(|| "global".to_owned()),
            effect: self.effect,
            not_before: None,
            expires_at: self.lasts.as_deref().map(moment).transpose().map_err(Failure::error)?,
            affects: self.affects,
            child_types: self.child_types,
        })
    }
}

fn show(app: &App, questions: &[Question]) -> Outcome<()> {
    let command = |q: &Question| format!("charter {}", q.args.join(" "));
    let rows: Vec<Value> = questions
        .iter()
        .map(|q| json!({"question": q.ask, "command": command(q), "exit_code": q.exit}))
        .collect();
    app.out.answer(&rows.into(), || {
        let lines = questions.iter().map(|q| format!("# {}\n{}\n", q.ask, command(q)));
        lines.collect::<Vec<_>>().join("\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_names_only_what_it_creates() {
        let demo: Demo = serde_norway::from_str(DEMO).unwrap();
        let users: Vec<&str> = demo.users.iter().map(|u| u.username.as_str()).collect();
        let groups: Vec<&str> = demo.groups.iter().map(|g| g.slug.as_str()).collect();
        let objects: Vec<String> =
            demo.objects.iter().map(|o| format!("{}:{}", o.object_type, o.id.as_str())).collect();
        assert!(demo.groups.iter().flat_map(|g| &g.members).all(|m| users.contains(&m.as_str())));
        for grant in &demo.grants {
            let (kind, name) = grant.to.split_once(':').unwrap();
            assert!(if kind == "user" { &users } else { &groups }.contains(&name), "{name}");
            assert!(grant.on.as_ref().is_none_or(|on| objects.contains(on)), "{:?}", grant.on);
        }
        for (at, object) in demo.objects.iter().enumerate() {
            assert!(object.parent.as_ref().is_none_or(|p| objects[..at].contains(p)), "{:?}", object.parent);
        }
        assert_eq!(demo.questions.len(), 5);
        assert!(users.len() >= 12 && demo.grants.iter().any(|g| g.lasts.is_some()));
    }
}
