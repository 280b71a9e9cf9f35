//! `charter import`: many users, groups or grants out of one file, each sent as the single command would be, so that
//! every guard is asked. Only adds; what is there already stays, so the same file may be imported again. Owns which
//! lines are sent in which order; what a kind of line becomes is in that kind's file.

mod file;
mod grants;
mod groups;
mod report;
mod users;

use crate::{
    app::App,
    client::{Answer, Client},
    exit::{Exit, Failure, Outcome},
};
use file::{Form, Line};
use report::{Entry, Report, Told};
use serde::de::DeserializeOwned;
use std::{path::PathBuf, time::Duration};

/// How often a line is sent again that the server was too busy for.
const BUSY_TRIES_MAX: u32 = 5;

/// What to import. A file is CSV with a line of headings, or JSON: a list of objects with the same members.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Users: `username`, `kind`, `display_name`, `email`, `login_name`, `external_id`
    Users(Args),
    /// Groups: `slug`, `name`, `members` (usernames; in CSV separated by spaces or semicolons)
    Groups(Args),
    /// Grants: `subject`, `role` or `permissions`, `scope`, `effect`, `not_before`, `expires_at`, `affects`,
    /// `child_types`
    Grants(Args),
}

/// Which file, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file; `-` is stdin, and then `--format` is needed
    file: PathBuf,
    /// How the file is written; by its name's end when left out
    #[arg(long, value_enum)]
    format: Option<Form>,
    /// Say what would become of each line; nothing is changed
    #[arg(long)]
    dry_run: bool,
    /// Also change what is there already and differs from the file; without it such lines are only reported
    #[arg(long)]
    update: bool,
}

/// How lines of one kind are carried out.
trait Kind {
    /// One line, read.
    type Line: DeserializeOwned;
    /// What is imported, in the plural.
    const WHAT: &'static str;
    /// The members a line may have.
    const MEMBERS: &'static [&'static str];
    /// Those of them that are lists.
    const LISTS: &'static [&'static str];

    /// What the report calls the line.
    fn name(line: &Self::Line) -> String;

    /// What no two lines may say; none where lines may repeat each other.
    fn unique(line: &Self::Line) -> Option<String>;

    /// Carries one line out.
    async fn carry_out(&mut self, how: &How, line: &Self::Line) -> Outcome<Told>;
}

/// With what, and how far.
struct How {
    /// Sends changes, or has them previewed only.
    client: Client,
    /// Whether what differs is changed.
    update: bool,
}

impl How {
    /// What a change came to; one that was only previewed would have been made.
    fn did(&self, sent: Outcome<Answer>) -> Outcome<()> {
        match sent {
            Ok(_) => Ok(()),
            Err(failure) if failure.previewed.is_some() => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Whether nothing is changed.
    const fn dry_run(&self) -> bool {
        self.client.previews()
    }
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    match verb {
        Verb::Users(args) => import(app, args, users::Users).await,
        Verb::Groups(args) => import(app, args, groups::Groups::default()).await,
        Verb::Grants(args) => import(app, args, grants::Grants).await,
    }
}

async fn import<K: Kind>(app: &App, args: Args, mut kind: K) -> Outcome {
    let lines = file::lines::<K>(&args.file, args.format)?;
    let mut report = Report::new(K::WHAT, args.dry_run);
    if lines.iter().any(|line| line.read.is_err()) {
        // A file that is not understood as a whole is not carried out in part.
        for line in lines {
            let entry = match line.read {
                Ok(read) => Entry::not_tried(line.number, K::name(&read)),
                Err(why) => Entry::invalid(line.number, why),
            };
            report.add(entry);
        }
        report.print(app)?;
        app.out.warn("Nothing was sent: put the invalid lines right first.");
        return Ok(Exit::Usage);
    }
    let how = How { client: app.client()?.previewing(args.dry_run), update: args.update };
    let bar = app.out.progress("importing", Some(lines.len() as u64));
    let mut stopped = None;
    for (done, Line { number, read }) in (1..).zip(lines) {
        let Ok(read) = read else { continue };
        let name = K::name(&read);
        let entry = match stopped {
            Some(_) => Entry::not_tried(number, name),
            None => {
                let told = carry_out(&mut kind, &how, &read).await;
                stopped = told.as_ref().err().filter(|failure| ends_it_all(failure)).map(|f| f.exit);
                Entry::of(number, name, told)
            }
        };
        report.add(entry);
        bar.at(done);
    }
    bar.finish();
    report.print(app)?;
    Ok(stopped.unwrap_or_else(|| report.exit()))
}

/// Sends a line; again, a little later each time, while the server is too busy.
async fn carry_out<K: Kind>(kind: &mut K, how: &How, line: &K::Line) -> Outcome<Told> {
    let mut tries = 1;
    loop {
        match kind.carry_out(how, line).await {
            Err(failure) if matches!(failure.status, Some(429 | 503)) && tries < BUSY_TRIES_MAX => {
                tokio::time::sleep(Duration::from_secs(u64::from(tries))).await;
                tries += 1;
            }
            told => return told,
        }
    }
}

/// Whether the next line can do no better: nobody is signed in any more, or there is no server.
fn ends_it_all(failure: &Failure) -> bool {
    match failure.status {
        // Said before anything was sent: about this line alone.
        None => failure.exit != Exit::Usage,
        Some(status) => status == 401 || status == 429 || status >= 500,
    }
}
