//! `charter object`: things that access is given to. An object is named `type:id` or `type:external_id`.

use super::{
    common::{Limit, Search, Then, Yes, list},
    shapes::{GRANT, OBJECT},
};
use crate::{
    app::App,
    client::{Client, route},
    exit::{Exit, Failure, Outcome},
};
use charter_events::{DisplayName, ExternalId, ObjectType};
use charter_http::dto::{InheritanceRequest, MoveRequest, ObjectCreate, ObjectPatch, TransferRequest};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

/// Whose objects, which of them, and in which order.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Owned {
    /// Of this user only: his id, username or external id
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    /// What of them
    #[command(flatten)]
    search: Search,
}

/// What to do with objects.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List those you may read
    Ls {
        /// Of this type only
        #[arg(long = "type", value_name = "TYPE")]
        object_type: Option<String>,
        /// Directly in this folder only
        #[arg(long = "in", value_name = "FOLDER")]
        parent: Option<String>,
        /// What else
        #[command(flatten)]
        owned: Owned,
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one
    Get {
        /// Which, as `type:id`
        object: String,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// Who has what on it, and from where
    Access {
        /// Which, as `type:id`
        object: String,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// Create one; you become its owner
    Create {
        /// `type:external_id`, or the type alone for one that is named by its id
        object: String,
        /// How it is shown; the external id when left out
        #[arg(long)]
        name: Option<DisplayName>,
        /// The folder to put it in; the top when left out
        #[arg(long = "in", value_name = "FOLDER")]
        parent: Option<String>,
    },
    /// Rename one
    Edit {
        /// Which, as `type:id`
        object: String,
        /// How it is shown
        #[arg(long)]
        name: Option<DisplayName>,
        /// Its id in somebody else's system; an empty text makes it the id itself again
        #[arg(long, value_name = "ID")]
        external_id: Option<String>,
    },
    /// Move one into a folder, or to the top
    Mv {
        /// Which, as `type:id`
        object: String,
        /// The folder
        #[arg(required_unless_present = "top", conflicts_with = "top")]
        folder: Option<String>,
        /// To the top instead of into a folder
        #[arg(long)]
        top: bool,
    },
    /// Give one to another owner
    Transfer {
        /// Which, as `type:id`
        object: String,
        /// The new owner
        user: String,
    },
    /// Whether what stands above it counts for it
    Inherit {
        /// Which, as `type:id`
        object: String,
        /// `on` or `off`
        #[arg(value_enum)]
        state: Switch,
    },
    /// Delete one; its grants end
    Rm {
        /// Which, as `type:id`
        object: String,
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    /// It counts
    On,
    /// It does not
    Off,
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { object_type, parent, owned, limit } => {
            ls(app, &client, (object_type, parent, owned), limit).await?;
        }
        Verb::Get { object, then } => {
            app.out.one(&OBJECT, &client.get(&at(&object, &[])?, &then.query()).await?.body)?
        }
        Verb::Access { object, then } => access(app, &client, &object, then).await?,
        Verb::Create { object, name, parent } => create(app, &client, &object, name, parent).await?,
        Verb::Edit { object, name, external_id } => edit(app, &client, &object, name, external_id).await?,
        Verb::Mv { object, folder, top: _ } => {
            let body = MoveRequest { parent: folder.map(|f| folder_ref(&f)) };
            act(app, &client, &object, ("move", "moved"), &body).await?;
        }
        Verb::Transfer { object, user } => {
            act(app, &client, &object, ("transfer", "has another owner"), &TransferRequest { owner: user })
                .await?;
        }
        Verb::Inherit { object, state } => {
            let body = InheritanceRequest { inherits: state == Switch::On };
            let done = if body.inherits { "inherits" } else { "does not inherit" };
            act(app, &client, &object, ("inheritance", done), &body).await?;
        }
        Verb::Rm { object, yes } => {
            app.confirm(yes.yes, &format!("delete {object} and end its grants"), &object)?;
            let at = at(&object, &[])?;
            client.change(Method::DELETE, &at, &client.get(&at, &[]).await?).await?;
            app.out.note(&format!("Object {object} deleted."));
        }
    }
    Ok(Exit::Done)
}

/// Lists objects by type and folder.
pub(super) async fn ls(
    app: &App,
    client: &Client,
    (object_type, parent, owned): (Option<String>, Option<String>, Owned),
    limit: Limit,
) -> Outcome<()> {
    let mut query = owned.search.query();
    query.extend(owned.owner.map(|owner| ("owner", owner)));
    query.extend(object_type.map(|t| ("type", t)));
    query.extend(parent.map(|p| ("parent", folder_ref(&p))));
    list(app, client, "/objects", &query, (limit, &OBJECT)).await
}

/// Creates an object named `type:external_id`, or by its type alone.
pub(super) async fn create(
    app: &App,
    client: &Client,
    object: &str,
    name: Option<DisplayName>,
    parent: Option<String>,
) -> Outcome<()> {
    let (object_type, external_id) = match object.split_once(':') {
        Some((object_type, external_id)) => (object_type, Some(external_id)),
        None => (object, None),
    };
    let name = match (name, external_id) {
        (Some(name), _) => name,
        (None, Some(external_id)) => valid::<DisplayName>(external_id)?,
        (None, None) => {
            return Err(
                Failure::usage("`--name` is missing").hint("it may be left out when an external id is given")
            );
        }
    };
    let body = ObjectCreate {
        object_type: valid::<ObjectType>(object_type)?,
        name,
        external_id: external_id.map(valid::<ExternalId>).transpose()?,
        parent: parent.map(|p| folder_ref(&p)),
    };
    let made = client.post("/objects", &body).await?;
    app.made("Object", "created", &OBJECT, &made.body)
}

async fn edit(
    app: &App,
    client: &Client,
    object: &str,
    name: Option<DisplayName>,
    external_id: Option<String>,
) -> Outcome<()> {
    let external_id = external_id
        .map(|text| if text.is_empty() { Ok(None) } else { valid::<ExternalId>(&text).map(Some) })
        .transpose()?;
    if name.is_none() && external_id.is_none() {
        return Err(Failure::usage("nothing to change").hint("give `--name` or `--external-id`"));
    }
    let at = at(object, &[])?;
    let seen = client.get(&at, &[]).await?;
    let made = client.patch(&at, &seen, &ObjectPatch { name, external_id }).await?;
    app.made("Object", "changed", &OBJECT, &made.body)
}

async fn act(
    app: &App,
    client: &Client,
    object: &str,
    (action, done): (&str, &str),
    body: &impl Serialize,
) -> Outcome<()> {
    let made = client.post(&at(object, &[action])?, body).await?;
    app.made("Object", done, &OBJECT, &made.body)
}

async fn access(app: &App, client: &Client, object: &str, then: Then) -> Outcome<()> {
    let body = client.get(&at(object, &["access"])?, &then.query()).await?.body;
    if app.out.format() != crate::output::Format::Table {
        return app.out.answer(&body, String::new);
    }
    let rows = |member: &str| body.get(member).and_then(Value::as_array).cloned().unwrap_or_default();
    for (heading, member) in [("On the object itself", "own"), ("From above", "inherited")] {
        let grants = rows(member);
        app.out.line(&format!("{heading}: {}", if grants.is_empty() { "nothing" } else { "" }))?;
        if !grants.is_empty() {
            app.out.rows(&GRANT, &grants)?;
        }
    }
    Ok(())
}

/// The route of an object named `type:id`.
fn at(object: &str, more: &[&str]) -> Outcome<String> {
    let Some((object_type, id)) = object.split_once(':') else {
        return Err(Failure::usage(format!("`{object}` names no object"))
            .hint("an object is named `type:id`, such as `server:s1`"));
    };
    let mut segments = vec!["objects", object_type, id];
    segments.extend(more);
    route(&segments)
}

/// A folder as the API names it: `folder:` may be left out.
pub(super) fn folder_ref(text: &str) -> String {
    if text.starts_with("folder:") { text.to_owned() } else { format!("folder:{text}") }
}

fn valid<T>(text: &str) -> Outcome<T>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| Failure::usage(error.to_string()))
}
