//! `charter restore`: a backup into an empty store, all of it or nothing. The file is verified before anything is made.

use super::{
    backup::{keys_from, verified},
    common::now,
    schema::{OwnerArgs, bring_up_to_date, versions},
    store::{Access, Opened, Place, StoreArgs, opening},
};
use crate::{
    app::App,
    exit::{Exit, Failure, Outcome, chain},
};
use charter_replay_tools::{
    Progress,
    backup::{BackupError, Options, Restored, Verified, require_empty, restore},
};
use serde_json::json;
use std::{fs::File, path::PathBuf};

/// How many users without a key are named in a warning.
const NAMED_USERS_MAX: usize = 5;

/// Which backup, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The backup
    file: PathBuf,
    /// The file of users' keys, as the newest backup left it; without it names stay sealed
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Let passwords work as they did when the backup was taken, also those that were changed since because somebody
    /// else knew them
    #[arg(long, requires = "keys")]
    keep_passwords: bool,
    /// Where it is to be kept: a store with nothing in it
    #[command(flatten)]
    store: StoreArgs,
    /// Who may make a schema there
    #[command(flatten)]
    owner: OwnerArgs,
}

/// Restores it.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let place = args.store.place()?;
    let file = verified(app, &args.file)?;
    let keys = args.keys.as_deref().map(keys_from).transpose()?;
    let options = Options { keys, keep_passwords: args.keep_passwords, reason: app.reason() };
    if let Some(keys) = options.keys.as_ref().filter(|keys| keys.log_id != file.1.contents.head.log_id) {
        let backup = file.1.contents.head.log_id;
        return Err(failed(&BackupError::OtherKeys { keys: keys.log_id, backup }));
    }
    require_nothing_there(app, &place, &args.owner).await?;
    let opened = place.open(Access::Server).await?;
    let done = restored(app, &opened, file, &options).await;
    opened.close().await;
    tell(app, &done?)
}

/// Refuses a store that holds anything, before it is opened to write.
async fn require_nothing_there(app: &App, place: &Place, owner: &OwnerArgs) -> Outcome<()> {
    let (found, known) = versions(place).await?;
    if found == 0 {
        return bring_up_to_date(app, place, owner).await;
    }
    if found != known {
        return Err(Failure::new(Exit::Conflict, format!("{place} holds a store of an older build"))
            .hint("restore into an empty folder or database"));
    }
    let opened = place.open(Access::ReadOnly).await?;
    let empty = require_empty(opened.store.as_ref()).await;
    opened.close().await;
    empty.map_err(|error| failed(&error))
}

async fn restored(
    app: &App,
    opened: &Opened,
    (mut file, verified): (File, Verified),
    options: &Options,
) -> Outcome<Restored> {
    opened.alone(now()).await?;
    let bar = app.out.progress("restoring", Some(verified.contents.head.offset.get()));
    let mut shown = |Progress { at, .. }| {
        bar.at(at.get());
        true
    };
    let done = restore(opened.store.as_ref(), (&mut file, verified), options, now(), &mut shown).await;
    bar.finish();
    done.map_err(|error| failed(&error))
}

fn tell(app: &App, restored: &Restored) -> Outcome {
    let Restored { contents, head, keys, passwords, sealed, sealed_users } = restored;
    let value = json!({
        "log_id": head.log_id,
        "restored": contents.head.offset,
        "head": head.offset,
        "head_hash": head.hash,
        "sha256": contents.digest,
        "users_with_key": keys,
        "users_without_key": sealed,
        "passwords": passwords,
    });
    app.out.answer(&value, || {
        format!(
            "Log {} is restored up to offset {}, as of {}; offset {} says so.\nhead {}  hash {}",
            head.log_id, contents.head.offset, contents.made_at, head.offset, head.offset, head.hash
        )
    })?;
    if *sealed > 0 {
        let named: Vec<String> =
            sealed_users.iter().take(NAMED_USERS_MAX).map(|user| user.to_string()).collect();
        let more = if named.len() as u64 == *sealed { "" } else { ", …" };
        app.out.warn(&format!(
            "{sealed} users have no key, so their names stay sealed: {}{more}. Whoever was erased after the backup \
             is among them; delete those accounts again.",
            named.join(", ")
        ));
    }
    app.out.note("No session and no token works any more. `charter recover-admin` lets an administrator in.");
    app.out.note(
        "A stream of this log that was published further holds another history: the server reports it as forked.",
    );
    Ok(Exit::Done)
}

fn failed(error: &BackupError) -> Failure {
    match error {
        BackupError::Store(error) => opening(error),
        BackupError::NotEmpty { .. } => Failure::new(Exit::Conflict, chain(error))
            .hint("restore into an empty folder or database, and nothing is lost if the backup is not what you want"),
        BackupError::OtherKeys { .. } => Failure::new(Exit::Conflict, chain(error)),
        _ => Failure::error(format!("nothing was restored: {}", chain(error))),
    }
}
