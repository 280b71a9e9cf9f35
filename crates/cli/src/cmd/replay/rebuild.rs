//! `charter replay rebuild`: the tables of read models built anew from the log, in a store of their own, and compared
//! row by row with those that are read. The store that is examined is only read.

use super::failed;
use crate::{
    app::App,
    cmd::{
        common::now,
        store::{Access, Place, StoreArgs, opening},
    },
    exit::{Doing, Exit, Failure, Outcome},
};
use charter_replay_tools::{
    Progress,
    rebuild::{Compared, Difference, Rebuilt, rebuild},
};
use charter_store::Store;
use charter_tables::{PROJECTIONS, Projection, projection};
use serde_json::{Value, json};
use std::{fmt::Write, path::PathBuf};

/// Which tables of which log.
#[derive(Debug, clap::Args)]
pub(crate) struct Rebuild {
    /// Where it is kept
    #[command(flatten)]
    store: StoreArgs,
    /// The read models to build; all when none is named
    #[arg(value_name = "NAME", value_parser = named)]
    names: Vec<String>,
    /// A folder to make, whose file `tables.db` has the new tables afterwards, to be read with SQL; they are thrown
    /// away when left out
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

fn named(text: &str) -> Result<String, String> {
    match projection(text) {
        Some(known) => Ok(known.spec().name.to_owned()),
        None => {
            let known: Vec<&str> = PROJECTIONS.iter().map(|known| known.spec().name).collect();
            Err(format!("there is no such read model; there are {}", known.join(", ")))
        }
    }
}

pub(super) async fn rebuilding(app: &App, args: Rebuild) -> Outcome {
    if let Some(folder) = args.into.as_ref().filter(|folder| folder.exists()) {
        return Err(Failure::usage(format!("`{}` is there already", folder.display()))
            .hint("name a folder that is to be made"));
    }
    let meant: Vec<&'static dyn Projection> = PROJECTIONS
        .iter()
        .filter(|known| args.names.is_empty() || args.names.iter().any(|name| name == known.spec().name))
        .copied()
        .collect();
    let live = args.store.place()?.open(Access::ReadOnly).await?;
    let thrown_away = match &args.into {
        Some(_) => None,
        None => Some(tempfile::tempdir().doing("make a folder for the new tables")?),
    };
    let kept = args.into.clone().or_else(|| thrown_away.as_ref().map(|folder| folder.path().join("new")));
    let fresh = Place::Folder(kept.unwrap_or_default()).open(Access::Server).await;
    let fresh = match fresh {
        Ok(fresh) => fresh,
        Err(failure) => {
            live.close().await;
            return Err(failure);
        }
    };
    let done = all(app, live.store.as_ref(), fresh.store.as_ref(), &meant).await;
    live.close().await;
    fresh.close().await;
    tell(app, &done?)
}

async fn all(
    app: &App,
    live: &dyn Store,
    fresh: &dyn Store,
    meant: &[&'static dyn Projection],
) -> Outcome<Vec<Rebuilt>> {
    let end = live.head().await.map_err(|error| opening(&error))?.offset;
    let mut built = Vec::new();
    for one in meant {
        let bar = app.out.progress(&format!("building {}", one.spec().name), Some(end.get()));
        let done = rebuild(live, fresh, *one, now(), |Progress { at, .. }| bar.at(at.get())).await;
        bar.finish();
        built.push(done.map_err(|error| failed(&error))?);
    }
    Ok(built)
}

fn tell(app: &App, built: &[Rebuilt]) -> Outcome {
    let value = Value::from(built.iter().map(value).collect::<Vec<_>>());
    app.out.answer(&value, || built.iter().map(text).collect())?;
    let wrong: Vec<&str> = built.iter().filter(|one| differs(one)).map(|one| one.projection).collect();
    if wrong.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::error(format!("these tables are not what the log says: {}", wrong.join(", ")))
        .hint("`charter projections rebuild NAME` builds them anew at the server"))
}

const fn differs(one: &Rebuilt) -> bool {
    matches!(one.compared, Compared::Differs { .. } | Compared::DigestDiffers)
}

fn value(one: &Rebuilt) -> Value {
    let (compared, differences, more) = match &one.compared {
        Compared::Equal => ("equal", &[][..], 0),
        Compared::Differs { rows, more } => ("differs", rows.as_slice(), *more),
        Compared::DigestDiffers => ("digest_differs", &[][..], 0),
        Compared::OtherVersion { .. } => ("other_version", &[][..], 0),
        Compared::NothingRead => ("nothing_read", &[][..], 0),
    };
    let difference = |row: &Difference| {
        json!({"table": row.table, "key": row.key, "columns": row.columns, "in_live": row.in_live,
            "in_rebuilt": row.in_rebuilt})
    };
    json!({
        "projection": one.projection,
        "version": one.version,
        "up_to": one.up_to,
        "rows": one.rows,
        "digest": hex::encode(one.digest),
        "compared": compared,
        "differences": differences.iter().map(difference).collect::<Vec<_>>(),
        "more_differences": more,
    })
}

fn text(one: &Rebuilt) -> String {
    let Rebuilt { projection, rows, up_to, .. } = one;
    let mut text = format!("{projection}: {rows} rows up to event {up_to}, ");
    match &one.compared {
        Compared::Equal => text.push_str("each as in the tables that are read.\n"),
        Compared::NothingRead => text.push_str("compared with nothing: none are read yet.\n"),
        Compared::OtherVersion { live } => {
            let mine = one.version;
            // Writing to a text never fails.
            let _ = writeln!(text, "not compared: version {live} is read, this one is {mine}.");
        }
        Compared::DigestDiffers => {
            text.push_str("NOT as in the tables that are read, which went on too fast to say where.\n");
        }
        Compared::Differs { rows, more } => {
            text.push_str("NOT as in the tables that are read:\n");
            for row in rows {
                let _ = writeln!(text, "  {} {}: {}", row.table, row.key, what(row));
            }
            if *more > 0 {
                let _ = writeln!(text, "  and {more} more rows");
            }
        }
    }
    text
}

fn what(row: &Difference) -> String {
    match (row.in_live, row.in_rebuilt) {
        (true, false) => "is in the tables that are read only".to_owned(),
        (false, _) => "is missing from the tables that are read".to_owned(),
        (true, true) => format!("differs in {}", row.columns.join(", ")),
    }
}
