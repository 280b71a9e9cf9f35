//! `charter audit`: what happened, as people read it.

use super::{
    common::{Limit, list, version},
    shapes::AUDIT,
};
use crate::{
    app::App,
    exit::{Exit, Outcome},
};
use charter_store::AsOf;

/// Which entries.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Done by: a user, `module:NAME`, or `system`
    #[arg(long, value_name = "WHO")]
    actor: Option<String>,
    /// About this user or group: `user:NAME` (or just the name) or `group:NAME`
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// About this object, or what is granted on it: `type:id`
    #[arg(long, value_name = "OBJECT")]
    object: Option<String>,
    /// Of this type, such as `grant.issued`, or of this area, such as `grant`
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// From here on: an offset, an RFC 3339 time, or back from now such as `90m`, `12h`, `30d`
    #[arg(long, value_parser = version, value_name = "OFFSET|TIME")]
    from: Option<AsOf>,
    /// Up to here: an offset, an RFC 3339 time, or back from now such as `90m`, `12h`, `30d`
    #[arg(long, value_parser = version, value_name = "OFFSET|TIME")]
    to: Option<AsOf>,
    /// Only those in which this text stands: types, names of roles, groups and objects, keys, reasons
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// How much of the list
    #[command(flatten)]
    limit: Limit,
}

/// Does it.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let client = app.client()?;
    let subject = args.subject.map(|text| if text.contains(':') { text } else { format!("user:{text}") });
    let all = [
        ("actor", args.actor),
        ("subject", subject),
        ("object", args.object),
        ("type", args.kind),
        ("from", args.from.map(|from| from.to_string())),
        ("to", args.to.map(|to| to.to_string())),
        ("q", args.search),
    ];
    let query: Vec<_> = all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    list(app, &client, "/audit", &query, (args.limit, &AUDIT)).await?;
    Ok(Exit::Done)
}
