//! `charter serve`: the server on an embedded database. Wires store, control plane and HTTP together, prints how to go
//! on, and ends in order when asked to.

use super::data::{DataFolder, open};
use crate::{
    app::App,
    exit::{Doing, Exit, Failure, Outcome, chain},
    output::{Progress as Bar, to_stderr},
};
use charter_control::{Config, Control, Progress, ProgressFn, StartError, Started};
use charter_events::DisplayName;
use charter_http::HttpConfig;
use charter_store_sqlite::Access;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// The port of a server unless told otherwise.
const PORT: u16 = 7400;
/// How often old measurements are folded together.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// How to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The data folder
    #[command(flatten)]
    data: DataFolder,
    /// Where to listen: a loopback address and a port; port 0 takes any free one
    #[arg(long, env = "CHARTER_LISTEN", value_name = "ADDRESS", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))]
    listen: SocketAddr,
    /// How this installation is shown; set when it is created
    #[arg(long, env = "CHARTER_INSTALLATION_NAME", value_name = "TEXT")]
    installation_name: Option<DisplayName>,
    /// How to write logs, on stderr
    #[arg(long, env = "CHARTER_LOG_FORMAT", value_enum, default_value = "text")]
    log_format: LogFormat,
    /// What to log: a level such as info, or directives such as charter_http=debug
    #[arg(long, env = "CHARTER_LOG", default_value = "info", value_name = "DIRECTIVES")]
    log: String,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON value a line
    Json,
}

/// Serves until told to end.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    if !args.listen.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "`{}` can be reached from other machines, which needs TLS that this version does not have",
            args.listen
        ))
        .hint("listen on 127.0.0.1 and put a reverse proxy that speaks TLS in front of it"));
    }
    start_logs(args.log_format, &args.log)?;
    let path = args.data.path()?;
    let store = open(&path, Access::Server).await?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        Failure::error(format!("can't listen on {}: {error}", args.listen))
            .hint("`--listen 127.0.0.1:0` takes any free port")
    })?;
    let address = listener.local_addr().doing("read the address")?;
    let config = Config {
        installation_name: args.installation_name,
        progress: Some(progress(app)),
        ..Config::default()
    };
    let started = Control::start(store, config).await.map_err(|error| not_started(&error))?;
    app.out.text(&banner(&started, &path, address))?;
    let control = started.control;
    let config = HttpConfig { metrics: Some(metrics()?), ..HttpConfig::default() };
    let router = charter_http::router(control.clone(), config);
    let served = charter_http::serve(listener, router, told_to_end()).await;
    to_stderr("Ending: commands in flight are completed and a snapshot is written.");
    control.shutdown().await;
    served.doing("serve")?;
    Ok(Exit::Done)
}

/// Records what is measured, for `/metrics`, and keeps what it holds bounded.
fn metrics() -> Outcome<PrometheusHandle> {
    let handle = PrometheusBuilder::new().install_recorder().doing("record metrics")?;
    let kept = handle.clone();
    tokio::spawn(async move {
        let mut every = tokio::time::interval(METRICS_UPKEEP);
        loop {
            every.tick().await;
            kept.run_upkeep();
        }
    });
    Ok(handle)
}

fn start_logs(format: LogFormat, directives: &str) -> Outcome<()> {
    let filter = EnvFilter::try_new(directives)
        .map_err(|error| Failure::usage(format!("`{directives}` says not what to log: {error}")))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => logs.with_ansi(crate::output::colour_on_stderr()).init(),
        LogFormat::Json => logs.json().flatten_event(true).init(),
    }
    Ok(())
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
        StartError::Store(error) => super::data::opening(error),
        _ => Failure::error(format!("can't start: {}", chain(error)))
            .hint("`charter doctor` examines the data folder"),
    }
}

/// What a starting server tells: where its data is, how to go on, and last where it listens.
fn banner(started: &Started, path: &Path, address: SocketAddr) -> String {
    let url = format!("http://{address}");
    let mut text = format!("Charter {}\n  data folder:  {}\n", env!("CARGO_PKG_VERSION"), path.display());
    if let Some(code) = &started.setup_code {
        let code = code.expose();
        let program = program();
        let server = if address.port() == PORT { String::new() } else { format!(" --server {url}") };
        text.push_str(&format!(
            "  setup code:   {code}\n\nNobody is administrator yet. Whoever has this code may become the first:\n\n  \
             {program} setup --code {code}{server}\n\n"
        ));
    }
    text.push_str(&format!("  listening on  {url}\n"));
    text
}

/// The program as it is to be typed: by its name where the shell finds it, else by its path.
fn program() -> String {
    const NAME: &str = "charter";
    let Ok(this) = std::env::current_exe() else { return NAME.to_owned() };
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(NAME) == this));
    let here = std::env::current_dir().ok();
    let shown = here
        .and_then(|here| this.strip_prefix(here).ok().map(Path::to_path_buf))
        .unwrap_or_else(|| this.clone());
    if found { NAME.to_owned() } else { shown.display().to_string() }
}

/// Waits for SIGINT or SIGTERM.
async fn told_to_end() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}
