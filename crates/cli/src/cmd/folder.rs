//! `charter folder`: objects of type `folder`, with less to type. Everything an object can do, a folder can do as
//! `charter object … folder:NAME`.

use super::{
    common::{Limit, Then},
    object,
};
use crate::{
    app::App,
    exit::{Exit, Outcome},
};
use charter_events::DisplayName;

/// What to do with folders.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List those you may read
    Ls {
        /// Directly in this folder only
        #[arg(long = "in", value_name = "FOLDER")]
        parent: Option<String>,
        /// What else
        #[command(flatten)]
        owned: object::Owned,
        /// How much of the list
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one
    Get {
        /// Its external id or id
        folder: String,
    },
    /// Create one; you become its owner
    Create {
        /// Its external id, by which other commands name it
        folder: String,
        /// How it is shown; the external id when left out
        #[arg(long)]
        name: Option<DisplayName>,
        /// The folder to put it in; the top when left out
        #[arg(long = "in", value_name = "FOLDER")]
        parent: Option<String>,
    },
    /// Move one into a folder, or to the top
    Mv {
        /// Its external id or id
        folder: String,
        /// Into which
        #[arg(required_unless_present = "top", conflicts_with = "top")]
        into: Option<String>,
        /// To the top instead of into a folder
        #[arg(long)]
        top: bool,
    },
    /// Delete one that is empty; its grants end
    Rm {
        /// Its external id or id
        folder: String,
        /// Leave to destroy
        #[command(flatten)]
        yes: super::common::Yes,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    match verb {
        Verb::Ls { parent, owned, limit } => {
            object::ls(app, &app.client()?, (Some("folder".to_owned()), parent, owned), limit).await?;
            Ok(Exit::Done)
        }
        Verb::Get { folder } => {
            object::run(app, object::Verb::Get { object: object::folder_ref(&folder), then: Then::NOW }).await
        }
        Verb::Create { folder, name, parent } => {
            object::create(app, &app.client()?, &object::folder_ref(&folder), name, parent).await?;
            Ok(Exit::Done)
        }
        Verb::Mv { folder, into, top } => {
            object::run(app, object::Verb::Mv { object: object::folder_ref(&folder), folder: into, top })
                .await
        }
        Verb::Rm { folder, yes } => {
            object::run(app, object::Verb::Rm { object: object::folder_ref(&folder), yes }).await
        }
    }
}
