//! `charter permission`: what the catalog knows.

use super::{
    common::{Limit, list},
    shapes::{OBJECT_TYPE, PERMISSION},
};
use crate::{
    app::App,
    exit::{Exit, Outcome},
};
use serde_json::Value;

/// What to do with permissions.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List them
    Ls {
        /// Of this namespace only
        #[arg(long)]
        namespace: Option<String>,
        /// Those that fit objects of this type only
        #[arg(long = "type", value_name = "TYPE")]
        object_type: Option<String>,
        /// As a tree of namespaces and resources
        #[arg(long)]
        tree: bool,
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
    },
    /// List the object types
    Types,
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { namespace, object_type, tree, limit } => {
            let mut query = Vec::new();
            query.extend(namespace.map(|n| ("namespace", n)));
            query.extend(object_type.map(|t| ("object_type", t)));
            if tree {
                query.push(("shape", "tree".to_owned()));
                let body = client.get("/permissions", &query).await?.body;
                app.out.answer(body.get("tree").unwrap_or(&Value::Null), || drawn(&body))?;
            } else {
                list(app, &client, "/permissions", &query, (limit, &PERMISSION)).await?;
            }
        }
        Verb::Types => {
            let body = client.get("/permissions", &[("limit", "1".to_owned())]).await?.body;
            let types = body.get("object_types").and_then(Value::as_array).cloned().unwrap_or_default();
            app.out.rows(&OBJECT_TYPE, &types)?;
        }
    }
    Ok(Exit::Done)
}

fn drawn(body: &Value) -> String {
    let items = |value: &Value, member: &str| {
        value.get(member).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let text =
        |value: &Value, member: &str| value.get(member).map(crate::output::text_of).unwrap_or_default();
    let mut lines = String::new();
    for namespace in items(body, "tree") {
        lines.push_str(&format!("{}\n", text(&namespace, "namespace")));
        for resource in items(&namespace, "resources") {
            lines.push_str(&format!("  {}\n", text(&resource, "resource")));
            for permission in items(&resource, "permissions") {
                lines.push_str(&format!(
                    "    {}  {}\n",
                    text(&permission, "key"),
                    text(&permission, "description")
                ));
            }
        }
    }
    lines
}
