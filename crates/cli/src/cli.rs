//! The command line: every verb, in one place. Parsing only; what a verb does is in its own file under `cmd`.

use crate::{
    app::{App, Globals},
    cmd,
    exit::{Failure, Outcome},
};
use clap::{Parser, Subcommand};

/// Charter: who may do what, and why. Every answer is folded from a log of events and can explain itself.
///
/// Exit codes: 0 yes or done, 1 error, 2 usage, 3 denied, 4 not signed in, 5 conflict.
#[derive(Debug, Parser)]
#[command(name = "charter", version, propagate_version = true, max_term_width = 110)]
pub(crate) struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub(crate) globals: Globals,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Every verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the server, on a SQLite file or a PostgreSQL database
    Serve(Box<cmd::serve::Args>),
    /// The server's configuration file: check it, or show what counts in the end
    #[command(subcommand)]
    Config(cmd::config::Verb),
    /// Create the first administrator of a new installation, and sign in
    Setup(cmd::setup::Args),
    /// Bring a store's schema up to date
    Migrate(cmd::migrate::Args),
    /// On the host (with a data folder: the server stopped), make somebody an administrator again
    RecoverAdmin(cmd::recover::Args),
    /// Sign in
    Login(cmd::login::Args),
    /// Sign out
    Logout,
    /// Who is signed in, where, and with which platform-wide permissions
    Whoami,
    /// Change your password
    Password(cmd::login::Password),
    /// Have a link sent for a password you have forgotten
    ForgotPassword(cmd::invitation::Forgot),
    /// Choose another password, with the link you were sent
    ResetPassword(cmd::invitation::WithLink),
    /// Invitations: accounts that wait for their people
    #[command(subcommand)]
    Invitation(cmd::invitation::Verb),
    /// Servers and sign-ins this machine knows
    #[command(subcommand)]
    Context(cmd::context::Verb),
    /// May this user do this? Exit code 0 yes, 3 no
    Check(cmd::ask::Check),
    /// The same, with the reason
    Why(cmd::ask::Check),
    /// Who may do this here?
    Who(cmd::ask::Who),
    /// What may this user do here?
    What(cmd::ask::What),
    /// On which objects may this user do this?
    Where(cmd::ask::Where),
    /// People and services
    #[command(subcommand)]
    User(cmd::user::Verb),
    /// Named sets of permissions
    #[command(subcommand)]
    Role(cmd::role::Verb),
    /// Named sets of users
    #[command(subcommand)]
    Group(cmd::group::Verb),
    /// Who is given what, where
    #[command(subcommand)]
    Grant(cmd::grant::Verb),
    /// Things that access is given to
    #[command(subcommand)]
    Object(cmd::object::Verb),
    /// Folders: objects that contain others
    #[command(subcommand)]
    Folder(cmd::folder::Verb),
    /// Permissions the catalog knows
    #[command(subcommand)]
    Permission(cmd::permission::Verb),
    /// What modules declare: permissions and object types
    #[command(subcommand)]
    Catalog(cmd::catalog::Verb),
    /// API tokens of yours
    #[command(subcommand)]
    Token(cmd::token::Verb),
    /// Sign-ins of yours
    #[command(subcommand)]
    Session(cmd::session::Verb),
    /// Many users, groups or grants out of a file, each through every guard
    #[command(subcommand)]
    Import(cmd::import::Verb),
    /// Who gained and lost what between two versions
    Diff(cmd::changes::Args),
    /// Take back what a command did, by the commands that lead back
    Undo(cmd::undo::Args),
    /// What happened, as people read it: who did what, on whom, when and why
    Audit(cmd::audit::Args),
    /// The events themselves
    #[command(subcommand)]
    Events(cmd::events::Verb),
    /// The log itself: where it ends, checkpoints of it to keep elsewhere, proofs
    #[command(subcommand)]
    Log(cmd::log::Verb),
    /// Decide in this process: follow the log, and show what happens or what a decision becomes
    Follow(cmd::follow::Args),
    /// Servers that are alive on the same database
    Servers,
    /// Read models in tables: how they stand, and building them anew
    #[command(subcommand)]
    Projections(cmd::projections::Verb),
    /// A whole log: verify, export, import into another store
    #[command(subcommand)]
    Replay(cmd::replay::Verb),
    /// Take a backup of everything, at the server or on the host
    Backup(cmd::backup::Args),
    /// Restore a backup into an empty store
    Restore(cmd::restore::Args),
    /// Check scenario files against the policy engine, without a server
    Test(cmd::test::Args),
    /// Fill an empty installation with an example
    Demo(cmd::demo::Args),
    /// Logs to measure with
    #[command(subcommand)]
    Bench(cmd::bench::Verb),
    /// Examine a store, and the stream beside it, without changing them
    Doctor(cmd::doctor::Args),
    /// Recompute every hash of a log
    Verify(cmd::verify::Args),
    /// Print a completion script for a shell
    Completions(cmd::completions::Args),
    /// Print the version
    Version,
}

impl Verb {
    /// Whether the changes this verb makes are all changes of the server's that it sends, so that they can be
    /// previewed.
    const fn can_be_previewed(&self) -> bool {
        matches!(
            self,
            Self::User(_)
                | Self::Role(_)
                | Self::Group(_)
                | Self::Grant(_)
                | Self::Object(_)
                | Self::Folder(_)
                | Self::Catalog(_)
                | Self::Token(_)
                | Self::Session(_)
                | Self::Undo(_)
                | Self::Password(_)
                | Self::Invitation(_)
        )
    }
}

/// Does what the command line says.
pub(crate) async fn run(cli: Cli) -> Outcome {
    let app = App::new(cli.globals);
    if app.previews() && !cli.verb.can_be_previewed() {
        return Err(Failure::usage("`--preview` is of no use here")
            .hint("it takes a verb that changes something at the server, such as `grant allow`"));
    }
    match dispatch(&app, cli.verb).await {
        Err(Failure { previewed: Some(told), .. }) => cmd::changes::show_preview(&app, &told),
        ended => ended,
    }
}

async fn dispatch(app: &App, verb: Verb) -> Outcome {
    match verb {
        Verb::Serve(args) => cmd::serve::run(app, *args).await,
        Verb::Config(verb) => cmd::config::run(app, verb),
        Verb::Setup(args) => cmd::setup::run(app, args).await,
        Verb::Migrate(args) => cmd::migrate::run(app, args).await,
        Verb::Servers => cmd::servers::run(app).await,
        Verb::Projections(verb) => cmd::projections::run(app, verb).await,
        Verb::Replay(verb) => cmd::replay::run(app, verb).await,
        Verb::RecoverAdmin(args) => cmd::recover::run(app, args).await,
        Verb::Login(args) => cmd::login::login(app, args).await,
        Verb::Logout => cmd::login::logout(app).await,
        Verb::Whoami => cmd::login::whoami(app).await,
        Verb::Password(args) => cmd::login::password(app, args).await,
        Verb::ForgotPassword(args) => cmd::invitation::forgot(app, args).await,
        Verb::ResetPassword(args) => cmd::invitation::reset(app, args).await,
        Verb::Invitation(verb) => cmd::invitation::run(app, verb).await,
        Verb::Context(verb) => cmd::context::run(app, verb),
        Verb::Check(args) => cmd::ask::check(app, args).await,
        Verb::Why(args) => cmd::ask::why(app, args).await,
        Verb::Who(args) => cmd::ask::who(app, args).await,
        Verb::What(args) => cmd::ask::what(app, args).await,
        Verb::Where(args) => cmd::ask::where_(app, args).await,
        Verb::User(verb) => cmd::user::run(app, verb).await,
        Verb::Role(verb) => cmd::role::run(app, verb).await,
        Verb::Group(verb) => cmd::group::run(app, verb).await,
        Verb::Grant(verb) => cmd::grant::run(app, verb).await,
        Verb::Object(verb) => cmd::object::run(app, verb).await,
        Verb::Folder(verb) => cmd::folder::run(app, verb).await,
        Verb::Permission(verb) => cmd::permission::run(app, verb).await,
        Verb::Catalog(verb) => cmd::catalog::run(app, verb).await,
        Verb::Token(verb) => cmd::token::run(app, verb).await,
        Verb::Session(verb) => cmd::session::run(app, verb).await,
        Verb::Import(verb) => cmd::import::run(app, verb).await,
        Verb::Diff(args) => cmd::changes::run(app, args).await,
        Verb::Undo(args) => cmd::undo::run(app, args).await,
        Verb::Audit(args) => cmd::audit::run(app, args).await,
        Verb::Events(verb) => cmd::events::run(app, verb).await,
        Verb::Log(verb) => cmd::log::run(app, verb).await,
        Verb::Follow(args) => cmd::follow::run(app, args).await,
        Verb::Backup(args) => cmd::backup::run(app, args).await,
        Verb::Restore(args) => cmd::restore::run(app, args).await,
        Verb::Test(args) => cmd::test::run(app, args),
        Verb::Demo(args) => cmd::demo::run(app, args).await,
        Verb::Bench(verb) => cmd::bench::run(app, verb).await,
        Verb::Doctor(args) => cmd::doctor::run(app, args).await,
        Verb::Verify(args) => cmd::verify::run(app, args).await,
        Verb::Completions(args) => cmd::completions::run(app, args),
        Verb::Version => cmd::version::run(app),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_says_what_it_does() {
        fn visit(command: &clap::Command, path: &str) {
            for sub in command.get_subcommands() {
                let path = format!("{path} {}", sub.get_name());
                assert!(sub.get_about().is_some(), "{path} has no help");
                for arg in sub.get_arguments() {
                    assert!(arg.get_help().is_some(), "{path} {} has no help", arg.get_id());
                }
                visit(sub, &path);
            }
        }
        visit(&Cli::command(), "charter");
    }
}
