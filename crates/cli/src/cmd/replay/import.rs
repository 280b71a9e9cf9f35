//! `charter replay import`: an exported log, and the secrets beside it, into another store. Both files are read to
//! their ends before anything is made: on a part of them a server would start, and go on with another history.

use super::{failed, reader, verify};
use crate::{
    app::App,
    cmd::{
        common::now,
        schema::{OwnerArgs, bring_up_to_date},
        store::{Access, Opened, StoreArgs, opening},
    },
    exit::{Doing, Exit, Failure, Outcome, chain},
};
use charter_replay_tools::{
    Progress, ToolError,
    import::{self, import},
    secrets::{self, Imported},
};
use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Secrets that come through a pipe are kept in memory, never in a temporary file: so many bytes of them at most.
const PIPED_SECRETS_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Which log, and where from.
#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    /// Where it is to be kept. Start no server there before the import has come to its end
    #[command(flatten)]
    store: StoreArgs,
    /// Who may make a schema there
    #[command(flatten)]
    owner: OwnerArgs,
    /// The exported log; `-` is stdin. It is read twice: one that can't be, as stdin, goes into a temporary file first
    file: PathBuf,
    /// The exported secrets that belong to it
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
}

/// What can be read again from its beginning.
trait Again: Read + Seek + Send {}
impl<T: Read + Seek + Send> Again for T {}

/// A file that was read to its end, and what was found.
struct Whole<'a, Found> {
    path: &'a Path,
    input: Box<dyn Again>,
    found: Found,
}

pub(super) async fn importing(app: &App, args: Import) -> Outcome {
    let place = args.store.place()?;
    let log = whole_log(app, &args.file)?;
    let beside = args.secrets.as_deref().map(whole_secrets).transpose()?;
    if let Some(beside) = &beside {
        beside.found.require_of(&log.found.head()).map_err(|error| failed(&error))?;
    }
    bring_up_to_date(app, &place, &args.owner).await?;
    let opened = place.open(Access::Server).await?;
    let done = take(app, &opened, log, beside).await;
    opened.close().await;
    done?;
    Ok(Exit::Done)
}

fn whole_log<'a>(app: &App, path: &'a Path) -> Outcome<Whole<'a, import::Checked>> {
    let mut input: Box<dyn Again> = match regular(path)? {
        Some(file) => Box::new(file),
        None => {
            let mut kept = tempfile::tempfile().doing("make a temporary file")?;
            io::copy(reader(path)?.as_mut(), &mut kept)
                .and_then(|_| kept.seek(SeekFrom::Start(0)))
                .doing(format_args!("keep `{}` in a temporary file", path.display()))?;
            Box::new(kept)
        }
    };
    let mut bar = None;
    let found = import::check(&mut BufReader::new(&mut *input), |Progress { at, end }| {
        bar.get_or_insert_with(|| app.out.progress("checking", Some(end.get()))).at(at.get());
    });
    if let Some(bar) = bar {
        bar.finish();
    }
    let found = found.map_err(|error| refused(path, &error))?;
    Ok(Whole { path, input, found })
}

fn whole_secrets(path: &Path) -> Outcome<Whole<'_, secrets::Checked>> {
    let mut input: Box<dyn Again> = match regular(path)? {
        Some(file) => Box::new(file),
        None => {
            let mut bytes = Zeroizing::new(Vec::new());
            let longest = PIPED_SECRETS_BYTES_MAX + 1;
            let read = reader(path)?.take(longest).read_to_end(&mut bytes);
            let read = read.doing(format_args!("read `{}`", path.display()))?;
            if u64::try_from(read).is_ok_and(|read| read == longest) {
                return Err(Failure::usage(format!(
                    "more than {PIPED_SECRETS_BYTES_MAX} bytes of secrets come from `{}`",
                    path.display()
                ))
                .hint("give them as a file"));
            }
            Box::new(Cursor::new(bytes))
        }
    };
    let found = secrets::check(&mut BufReader::new(&mut *input)).map_err(|error| refused(path, &error))?;
    Ok(Whole { path, input, found })
}

/// A file, if it is one that can be read again: not stdin, nor a pipe by another name.
fn regular(path: &Path) -> Outcome<Option<File>> {
    if path == Path::new("-") {
        return Ok(None);
    }
    let is_file = std::fs::metadata(path).map(|found| found.is_file());
    if is_file.doing(format_args!("read `{}`", path.display()))? {
        return File::open(path).doing(format_args!("read `{}`", path.display())).map(Some);
    }
    Ok(None)
}

async fn take(
    app: &App,
    opened: &Opened,
    mut log: Whole<'_, import::Checked>,
    beside: Option<Whole<'_, secrets::Checked>>,
) -> Outcome<()> {
    opened.alone(now()).await?;
    let store = opened.store.as_ref();
    if let Some(beside) = &beside {
        beside.found.require_room(store).await.map_err(|error| failed(&error))?;
    }
    let bar = app.out.progress("importing", Some(log.found.head().offset.get()));
    let head = import(store, (log.input.as_mut(), log.found), |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    let head = head.map_err(|error| ended(log.path, &error))?;
    // A server that was started meanwhile works with keys that are replaced now.
    opened.alone(now()).await?;
    match beside {
        Some(beside) => take_secrets(app, opened, beside).await?,
        None if store.user_keys_after(None, 1).await.map_err(|error| opening(&error))?.is_empty() => {
            app.out.warn(
                "Secrets were not imported: names stay sealed and nobody can sign in. `--secrets` takes them, \
                 before a server starts here.",
            );
        }
        None => {}
    }
    let sound = verify::sound(app, opened, &[]).await?;
    if sound.scanned.head != head {
        return Err(Failure::error("the store does not end where the file does"));
    }
    verify::tell(app, &sound, &[])
}

async fn take_secrets(app: &App, opened: &Opened, mut beside: Whole<'_, secrets::Checked>) -> Outcome<()> {
    beside.input.seek(SeekFrom::Start(0)).doing(format_args!("read `{}` again", beside.path.display()))?;
    let done = secrets::import(opened.store.as_ref(), &mut BufReader::new(&mut *beside.input)).await;
    match done.map_err(|error| ended(beside.path, &error))? {
        Imported::Rows(rows) => app.out.note(&format!("{rows} secrets.")),
        Imported::Before => app.out.note("The secrets were there already."),
    }
    Ok(())
}

/// Why a file was refused before anything was written.
fn refused(path: &Path, error: &ToolError) -> Failure {
    match error {
        ToolError::Line { .. } | ToolError::Chain { .. } => {
            let what = format!("`{}` is not what was exported: {}", path.display(), chain(error));
            Failure::error(what).hint("nothing was written")
        }
        _ => failed(error),
    }
}

/// Why an import of files that were whole did not come to its end.
fn ended(path: &Path, error: &ToolError) -> Failure {
    let failure = match error {
        ToolError::OtherLog(_) => return failed(error),
        ToolError::Line { .. } | ToolError::Chain { .. } => {
            Failure::error(format!("`{}` changed while it was read: {}", path.display(), chain(error)))
        }
        _ => failed(error),
    };
    failure
        .hint("what was committed before is kept: import again before a server starts here, and it goes on")
}
