//! `charter role`: named sets of permissions.

use super::{
    common::{Limit, Search, Then, Yes, list},
    shapes::ROLE,
};
use crate::{
    app::App,
    client::route,
    exit::{Exit, Failure, Outcome},
};
use charter_events::{DisplayName, Pattern, RoleScope, Slug};
use charter_http::dto::{Role, RoleCreate, RolePatch};
use reqwest::Method;

/// Where a role may be assigned.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Scope {
    /// Platform-wide only
    Global,
    /// On objects only
    Object,
    /// Either
    Both,
}

impl From<Scope> for RoleScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Global => Self::Global,
            Scope::Object => Self::Object,
            Scope::Both => Self::Both,
        }
    }
}

/// What to do with roles.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List them
    Ls {
        /// What
        #[command(flatten)]
        search: Search,
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// Show one
    Get {
        /// Its slug or id
        role: String,
        /// When
        #[command(flatten)]
        then: Then,
    },
    /// Create one
    Create {
        /// Its slug: what other commands call it; it never changes
        slug: Slug,
        /// How it is shown; the slug when left out
        #[arg(long)]
        name: Option<DisplayName>,
        /// Where it may be assigned; this never changes
        #[arg(long, value_enum, default_value = "both")]
        scope: Scope,
        /// What it holds: keys and wildcards (`*`, `ns.*`, `ns.res.*`)
        #[arg(short, long = "permission", value_name = "KEY")]
        permissions: Vec<Pattern>,
    },
    /// Rename one, add to it, remove from it
    Edit {
        /// Its slug or id
        role: String,
        /// How it is shown
        #[arg(long)]
        name: Option<DisplayName>,
        /// What it holds from now on
        #[arg(long, value_name = "KEY")]
        add: Vec<Pattern>,
        /// What it holds no longer
        #[arg(long, value_name = "KEY")]
        remove: Vec<Pattern>,
    },
    /// Delete one; its grants end
    Rm {
        /// Its slug or id
        role: String,
        /// Leave to destroy
        #[command(flatten)]
        yes: Yes,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls { search, limit, then } => {
            let query = [search.query(), then.query()].concat();
            list(app, &client, "/roles", &query, (limit, &ROLE)).await?;
        }
        Verb::Get { role, then } => {
            app.out.one(&ROLE, &client.get(&route(&["roles", &role])?, &then.query()).await?.body)?
        }
        Verb::Create { slug, name, scope, permissions } => {
            let body = RoleCreate { slug, name, scope: scope.into(), permissions };
            let made = client.post("/roles", &body).await?;
            app.made("Role", "created", &ROLE, &made.body)?;
        }
        Verb::Edit { role, name, add, remove } => {
            if name.is_none() && add.is_empty() && remove.is_empty() {
                return Err(Failure::usage("nothing to change").hint("give `--name`, `--add` or `--remove`"));
            }
            let at = route(&["roles", &role])?;
            let seen = client.get(&at, &[]).await?;
            let permissions = (!add.is_empty() || !remove.is_empty())
                .then(|| edited(seen.read::<Role>()?.permissions, add, &remove))
                .transpose()?;
            let made = client.patch(&at, &seen, &RolePatch { name, permissions }).await?;
            app.made("Role", "changed", &ROLE, &made.body)?;
        }
        Verb::Rm { role, yes } => {
            app.confirm(yes.yes, &format!("delete role {role} and end its grants"), &role)?;
            let at = route(&["roles", &role])?;
            client.change(Method::DELETE, &at, &client.get(&at, &[]).await?).await?;
            app.out.note(&format!("Role {role} deleted."));
        }
    }
    Ok(Exit::Done)
}

/// A role's content with some added and some removed.
fn edited(held: Vec<Pattern>, add: Vec<Pattern>, remove: &[Pattern]) -> Outcome<Vec<Pattern>> {
    if let Some(not_held) = remove.iter().find(|pattern| !held.contains(pattern)) {
        return Err(Failure::error(format!("the role does not hold `{not_held}`")));
    }
    let mut content: Vec<Pattern> =
        held.into_iter().filter(|pattern| !remove.contains(pattern)).chain(add).collect();
    content.sort();
    content.dedup();
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editing_adds_once_and_removes_only_what_is_held() {
        let patterns = |texts: &[&str]| texts.iter().map(|t| t.parse().unwrap()).collect::<Vec<Pattern>>();
        let held = patterns(&["a.b.c", "a.b.d"]);
        let content = edited(held.clone(), patterns(&["a.*", "a.b.c"]), &patterns(&["a.b.d"])).unwrap();
        assert_eq!(content, patterns(&["a.*", "a.b.c"]));
        assert!(edited(held, Vec::new(), &patterns(&["x.y.z"])).is_err());
    }
}
