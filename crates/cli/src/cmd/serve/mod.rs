//! `charter serve`: the server. Wires store, control plane, HTTP and stream together, prints how to go on, and ends in
//! order when asked to.

mod banner;
mod listening;
mod logs;
mod mail;
mod measured;
mod oidc;
mod stream;
mod traces;

use super::{
    backup::{FolderArgs, Kept},
    common::now,
    nats::NatsArgs,
    schema::{OwnerArgs, bring_up_to_date},
    signals::told_to_end,
    store::{Access, Opened, Place, StoreArgs, opening},
};
use crate::{
    app::App,
    exit::{Doing, Exit, Failure, Outcome, chain},
    output::{Progress as Bar, to_stderr},
};
use banner::Banner;
use charter_bus_nats::NatsConfig;
use charter_control::{Backups, Config, Control, Progress, ProgressFn, StartError, Started};
use charter_events::{DisplayName, Offset};
use charter_http::{HttpConfig, IdentityProvider, SubjectType, Tls};
use charter_store::Lease;
use listening::ListeningArgs;
use logs::{LogFormat, start_logs};
use mail::MailArgs;
use measured::metrics;
use oidc::OidcArgs;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use stream::{Connected, Publishing};
use tokio::net::TcpListener;
use traces::{Traces, TracesArgs};

/// The port of a server unless told otherwise.
const PORT: u16 = 7400;
/// How often a server asks a shared log what others appended; it is woken earlier as a rule.
const FOLLOW_EVERY: Duration = Duration::from_millis(25);

/// How to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where everything is kept
    #[command(flatten)]
    store: StoreArgs,
    /// Who may change the database's schema
    #[command(flatten)]
    owner: OwnerArgs,
    /// Where the log is published
    #[command(flatten)]
    nats: NatsArgs,
    /// Where backups go
    #[command(flatten)]
    backups: FolderArgs,
    /// How people are written to
    #[command(flatten)]
    mail: MailArgs,
    /// Where people sign in besides
    #[command(flatten)]
    oidc: OidcArgs,
    /// Where to listen, and whom to trust there
    #[command(flatten)]
    listening: ListeningArgs,
    /// Where traces go
    #[command(flatten)]
    traces: TracesArgs,
    /// What users are called besides `user` by those who ask in the words of AuthZEN, such as identity; can be
    /// repeated
    #[arg(long, env = "CHARTER_AUTHZEN_SUBJECT_TYPE", value_name = "TYPE", value_delimiter = ',')]
    authzen_subject_type: Vec<SubjectType>,
    /// How this installation is shown; set when it is created
    #[arg(long, env = "CHARTER_INSTALLATION_NAME", value_name = "TEXT")]
    installation_name: Option<DisplayName>,
    /// For how long questions are still answered while the database can't be reached
    #[arg(long, env = "CHARTER_STALE_DECISIONS", value_name = "SECONDS", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=86_400))]
    stale_decisions: u64,
    /// How to write logs, on stderr
    #[arg(long, env = "CHARTER_LOG_FORMAT", value_enum, default_value = "text")]
    log_format: LogFormat,
    /// What to log: a level such as info, or directives such as charter_http=debug
    #[arg(long, env = "CHARTER_LOG", default_value = "info", value_name = "DIRECTIVES")]
    log: String,
}

impl Args {
    /// What can't be used of what is set, by its key; nothing is opened and nobody is asked.
    pub(crate) fn faults(&self) -> Vec<(&'static str, Failure)> {
        let checks = [
            ("database_url", self.store.place().map(drop)),
            ("migration_url", self.owner.owner().map(drop)),
            ("nats_url", self.nats.config("charter server").map(drop)),
            ("listen", self.listening.refuse_plaintext()),
            ("tls_certificate", self.listening.tls().map(drop)),
            ("trusted_proxy", self.listening.refuse_trust_in_all()),
            ("smtp_url", self.mail.check()),
            ("otlp_endpoint", self.traces.address().map(drop)),
            ("oidc_issuer", self.mail.public_url().map_or(Ok(()), |url| self.oidc.check(url.as_ref()))),
            ("log", logs::filter(&self.log).map(drop)),
        ];
        checks.into_iter().filter_map(|(key, checked)| Some((key, checked.err()?))).collect()
    }
}

/// Serves until told to end.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    args.listening.refuse_plaintext()?;
    args.listening.refuse_trust_in_all()?;
    let tls = args.listening.tls()?;
    args.mail.check()?;
    let provider = args.oidc.provider(args.mail.public_url()?.as_ref())?;
    let place = args.store.place()?;
    let nats = args.nats.config("charter server")?;
    let traces = args.traces.begin()?;
    start_logs(args.log_format, &args.log, traces.as_ref().map(Traces::tracer))?;
    if let Some(file) = place.beside() {
        app.out.warn(&format!(
            "`{}` is there and is not used: everything is in the database {place}.",
            file.display()
        ));
    }
    bring_up_to_date(app, &place, &args.owner).await?;
    let opened = place.open(Access::Server).await?;
    let done = serve(app, &args, &place, &opened, (nats.as_ref(), tls, provider)).await;
    opened.close().await;
    if let Some(traces) = traces {
        traces.end().await;
    }
    done
}

async fn serve(
    app: &App,
    args: &Args,
    place: &Place,
    opened: &Opened,
    (nats, tls, provider): (Option<&NatsConfig>, Option<Tls>, Option<IdentityProvider>),
) -> Outcome {
    let head = opened.store.head().await.map_err(|error| opening(&error))?;
    let bus = stream::connected(nats, head.offset == Offset::ZERO).await?;
    let listener = TcpListener::bind(args.listening.listen).await.map_err(|error| {
        Failure::error(format!("can't listen on {}: {error}", args.listening.listen))
            .hint("`--listen 127.0.0.1:0` takes any free port")
    })?;
    let address = listener.local_addr().doing("read the address")?;
    let measured = metrics()?;
    if args.traces.address()?.is_some() {
        traces::show_counters();
    }
    let others = opened.store.live_servers(now()).await.map_err(|error| opening(&error))?;
    let started = Control::start(opened.store.clone(), config(app, args, place)?).await;
    let started = started.map_err(|error| not_started(&error))?;
    let control = started.control.clone();
    args.backups.warn_of_forgotten_keys(place, control.log_id());
    let publishing = match published(bus, &control).await {
        Ok(publishing) => publishing,
        Err(failure) => {
            control.shutdown().await;
            return Err(failure);
        }
    };
    // Before it says that it is there: whoever waits for that may end it at once.
    let end = told_to_end()?;
    if let Some(tls) = tls.clone() {
        args.listening.keep_up(tls)?;
    }
    app.out.text(&told(place, &started, &others, publishing.as_ref(), (address, tls.is_some())))?;
    let config = args.listening.http(HttpConfig {
        metrics: Some(measured),
        encrypted: tls.is_some(),
        public_url: args.mail.public_url()?,
        subject_types: args.authzen_subject_type.clone(),
        oidc: provider,
        ..HttpConfig::default()
    });
    let router = charter_http::router(control.clone(), config);
    let served = charter_http::serve_over(listener, args.listening.how(tls), router, end).await;
    to_stderr("Ending: commands in flight are completed and a snapshot is written.");
    control.clone().shutdown().await;
    if let Some(publishing) = publishing {
        publishing.end(control.policy().version()).await;
    }
    served.doing("serve")?;
    Ok(Exit::Done)
}

fn config(app: &App, args: &Args, place: &Place) -> Outcome<Config> {
    Ok(Config {
        installation_name: args.installation_name.clone(),
        progress: Some(progress(app)),
        follow_every: place.is_shared().then_some(FOLLOW_EVERY),
        stale_decisions: Duration::from_secs(args.stale_decisions),
        backups: args.backups.folder(place).map(|folder| Arc::new(Kept(folder)) as Arc<dyn Backups>),
        mailer: args.mail.mailer()?,
        public_url: args.mail.public_url()?.map(|url| url.to_string()),
        oidc_issuer: args.oidc.issuer()?,
        oidc_scim_external_id: args.oidc.links_by_scim(),
        ..Config::default()
    })
}

async fn published(bus: Option<Connected>, control: &Control) -> Outcome<Option<Publishing>> {
    match bus {
        Some(bus) => bus.publish(control).await.map(Some),
        None => Ok(None),
    }
}

/// A bar that appears with the first report and goes with the last, so that a quick start shows none.
fn progress(app: &App) -> ProgressFn {
    let out = app.out;
    let bar: Mutex<Option<Bar>> = Mutex::new(None);
    Arc::new(move |Progress { done, total }| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        if done < total {
            bar.get_or_insert_with(|| out.progress("reading the log", Some(total.get()))).at(done.get());
        } else if let Some(bar) = bar.take() {
            bar.finish();
        }
    })
}

fn not_started(error: &StartError) -> Failure {
    match error {
        StartError::Store(error) => opening(error),
        _ => Failure::error(format!("can't start: {}", chain(error)))
            .hint("`charter doctor` examines what is kept"),
    }
}

fn told(
    place: &Place,
    started: &Started,
    others: &[Lease],
    publishing: Option<&Publishing>,
    (address, encrypted): (SocketAddr, bool),
) -> String {
    Banner {
        place,
        stream: publishing.map(|publishing| publishing.shown.clone()),
        server: place.is_shared().then(|| started.control.server_id()),
        others,
        setup_code: started.setup_code.as_ref().map(|code| code.expose()),
        address,
        encrypted,
    }
    .text()
}
