//! `charter follow`: a follower that shows what it does: what happens, how it comes, and what a decision becomes.

use super::{shapes::EVENT, signals::told_to_end, store::Hidden};
use crate::{
    app::App,
    client::{Client, route},
    exit::{Doing, Exit, Failure, Outcome, chain},
    output::Format,
};
use charter_bus_nats::{InvalidNatsUrl, NatsConfig};
use charter_events::{EventJson, ObjectId, Offset, PermissionKey, Scope, StoredEvent, UserId};
use charter_follower::{Follower, FollowerConfig, FollowerError, NotFresh, Status, Token};
use charter_policy::Decision;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::sync::broadcast::error::RecvError;

/// How often the state of things is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is told when nothing but the version changed.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// What to follow, and what to show of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print this decision whenever it changes, instead of events: who, what, and where as `type:id`. It is `unknown`
    /// while the server does not confirm the state
    #[arg(long, num_args = 2..=3, value_names = ["USER", "PERMISSION", "OBJECT"])]
    check: Option<Vec<String>>,
    /// Keep the state in this folder, so that the next start reads only what is new
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Follow the stream on NATS JetStream, at nats://USER:PASSWORD@HOST:PORT; `none`: over HTTP, whatever the variable
    /// says. Other users of this machine see arguments: a password is safer in the variable
    #[arg(long, env = "CHARTER_NATS_URL", hide_env_values = true, value_name = "URL")]
    nats_url: Option<Hidden>,
    /// A file with a NATS user's credentials, as `nsc` writes it
    #[arg(long, env = "CHARTER_NATS_CREDENTIALS", value_name = "FILE")]
    nats_credentials: Option<PathBuf>,
}

/// A decision to watch.
struct Watched {
    user: UserId,
    permission: PermissionKey,
    object: Option<(String, String)>,
}

/// Follows until interrupted.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let target = app.target()?;
    let secret = target.secret.ok_or_else(|| {
        Failure::new(Exit::NotAuthenticated, "nobody is signed in").hint("`charter login` signs you in")
    })?;
    let watched = match &args.check {
        None => None,
        Some(words) => Some(watched(&app.client()?, words).await?),
    };
    let mut config = FollowerConfig::new(target.server, Token::new(secret.expose()));
    config.nats = nats(&args)?;
    config.folder = args.folder;
    let mut told_to_end = std::pin::pin!(told_to_end()?);
    // The first start reads the whole log.
    let follower = tokio::select! {
        started = Follower::start(config) => started.map_err(|error| not_started(&error))?,
        () = &mut told_to_end => return Ok(Exit::Done),
    };
    let shown = tokio::select! {
        shown = show(app, &follower, watched.as_ref()) => shown,
        () = told_to_end => Ok(Exit::Done),
    };
    follower.shutdown().await;
    shown
}

fn nats(args: &Args) -> Outcome<Option<NatsConfig>> {
    let Some(text) = args.nats_url.as_ref().and_then(Hidden::given) else { return Ok(None) };
    let url = text.parse().map_err(|error: InvalidNatsUrl| {
        Failure::usage(chain(&error)).hint("correct `CHARTER_NATS_URL`, or the flag given instead")
    })?;
    let credentials_file = args.nats_credentials.clone();
    Ok(Some(NatsConfig { credentials_file, ..NatsConfig::new(url, "charter follow") }))
}

fn not_started(error: &FollowerError) -> Failure {
    let exit = match error {
        FollowerError::Address { .. } | FollowerError::Token => Exit::Usage,
        FollowerError::Unauthenticated { .. } => Exit::NotAuthenticated,
        FollowerError::Forbidden { .. } => Exit::Denied,
        _ => Exit::Error,
    };
    Failure::new(exit, chain(error))
}

/// What `--check` means. A follower knows users by their ids; whoever is named otherwise is asked for.
async fn watched(client: &Client, words: &[String]) -> Outcome<Watched> {
    let [user, permission, object @ ..] = words else {
        return Err(Failure::usage("`--check` takes a user and a permission, and perhaps an object"));
    };
    let permission =
        permission.parse().map_err(|error| Failure::usage(format!("`{permission}`: {error}")))?;
    let object = object.first().map(|text| place(text)).transpose()?;
    let user = match user.parse() {
        Ok(id) => id,
        Err(_) => id_of(client, user).await?,
    };
    Ok(Watched { user, permission, object })
}

async fn id_of(client: &Client, user: &str) -> Outcome<UserId> {
    let path = if user == "me" { "/user/me".to_owned() } else { route(&["users", user])? };
    let answer = client.get(&path, &[]).await?;
    let id = answer.body.pointer("/user/id").or_else(|| answer.body.get("id")).and_then(Value::as_str);
    id.and_then(|id| id.parse().ok()).ok_or_else(|| Failure::error("the server names no id of the user"))
}

fn place(text: &str) -> Outcome<(String, String)> {
    let Some((object_type, name)) = text.split_once(':') else {
        return Err(Failure::usage(format!("`{text}` is no object"))
            .hint("an object is `type:id`, such as server:s1"));
    };
    Ok((object_type.to_owned(), name.to_owned()))
}

impl Watched {
    /// The decision now, if there is one; an object that is not there is one nobody may do anything on.
    fn decide(&self, follower: &Follower) -> Result<Decision, NotFresh> {
        let policy = follower.fresh_policy()?;
        let nowhere = Scope::Object(ObjectId::from_u128(0));
        let scope = match &self.object {
            None => Scope::Global,
            Some((object_type, name)) => {
                let named = policy.object_by_external_id(object_type, name);
                named.or_else(|| name.parse().ok()).map_or(nowhere, Scope::Object)
            }
        };
        Ok(policy.check(self.user, &self.permission, scope, follower.now()))
    }
}

/// Shows what is asked for until the follower can't go on.
async fn show(app: &App, follower: &Follower, watched: Option<&Watched>) -> Outcome {
    let mut events = follower.events();
    let mut versions = follower.versions();
    let mut look = tokio::time::interval_at(tokio::time::Instant::now() + LOOK_EVERY, LOOK_EVERY);
    let mut telling = Telling::new();
    let mut last = None;
    loop {
        if let Some(watched) = watched {
            let decision = watched.decide(follower);
            let allowed = decision.as_ref().ok().map(Decision::allowed);
            if last.replace(allowed) != Some(allowed) {
                print_decision(app, watched, follower.version(), &decision)?;
            }
        }
        tokio::select! {
            event = events.recv(), if watched.is_none() => match event {
                Ok(event) => print_event(app, &event)?,
                Err(RecvError::Lagged(count)) => app.out.warn(&format!("{count} events are not shown: they came too fast")),
                Err(RecvError::Closed) => return Ok(Exit::Done),
            },
            changed = versions.changed(), if watched.is_some() => if changed.is_err() { return Ok(Exit::Done) },
            _ = look.tick() => {
                let status = follower.status();
                telling.tell(app, &status)?;
                if let Some(stopped) = status.stopped {
                    return Err(Failure::error(stopped.to_string()));
                }
            }
        }
    }
}

fn print_event(app: &App, event: &StoredEvent) -> Outcome<()> {
    let json =
        EventJson::new(event).and_then(|event| serde_json::to_string(&event)).doing("write an event")?;
    match app.out.format() {
        Format::Table | Format::Name => {
            let row: Value = serde_json::from_str(&json).doing("read an event")?;
            let table = app.out.format() == Format::Table;
            app.out.line(&if table { EVENT.cells(&row).join("  ") } else { EVENT.name_of(&row) })
        }
        _ => app.out.line(&json),
    }
}

fn print_decision(
    app: &App,
    watched: &Watched,
    version: Offset,
    decision: &Result<Decision, NotFresh>,
) -> Outcome<()> {
    let (allowed, because, version) = match decision {
        Ok(decision) => (Some(decision.allowed()), decision.because.as_str().to_owned(), decision.version),
        Err(error) => (None, error.to_string(), version),
    };
    match (app.out.format(), allowed) {
        (Format::Table | Format::Name, Some(allowed)) => {
            let word = app.out.mark(if allowed { "yes" } else { "no" }, allowed);
            app.out.line(&format!("{word}  at version {version}  {because}"))
        }
        (Format::Table | Format::Name, None) => app
            .out
            .line(&format!("{}  at version {version}", app.out.mark(&format!("unknown ({because})"), false))),
        _ => {
            let object = watched.object.as_ref().map(|(object_type, name)| format!("{object_type}:{name}"));
            let value = json!({"decision": {
                "user": watched.user, "permission": watched.permission, "object": object,
                "allowed": allowed, "because": because, "version": version,
            }});
            app.out.line(&value.to_string())
        }
    }
}

/// What was told of the state of things, so that nothing is told twice.
struct Telling {
    told: Option<Value>,
    at: Instant,
    counted: (u64, Instant),
}

impl Telling {
    fn new() -> Self {
        let now = Instant::now();
        Self { told: None, at: now, counted: (0, now) }
    }

    /// Tells how it goes: at once when the way changes, now and then when the version did.
    fn tell(&mut self, app: &App, status: &Status) -> Outcome<()> {
        let way = json!([
            status.source.as_str(),
            status.connected,
            status.gaps,
            status.trouble,
            status.stopped.is_some()
        ]);
        let version_told = json!([way, status.version]);
        let same_way = self.told.as_ref().and_then(|told| told.get(0)) == Some(&way);
        let same = self.told.as_ref() == Some(&version_told);
        if same || (same_way && self.at.elapsed() < TELL_EVERY) {
            return Ok(());
        }
        let (count, since) = std::mem::replace(&mut self.counted, (status.applied, Instant::now()));
        let seconds = since.elapsed().as_secs_f64();
        // What the start read is no speed of what happens.
        let rate = match &self.told {
            Some(_) if seconds > 0.0 => status.applied.saturating_sub(count) as f64 / seconds,
            _ => 0.0,
        };
        self.told = Some(version_told);
        self.at = Instant::now();
        if matches!(app.out.format(), Format::Table | Format::Name) {
            app.out.note(&sentence(status, rate));
            return Ok(());
        }
        app.out.line(&document(status, rate).to_string())
    }
}

fn lag(status: &Status) -> u64 {
    status.server_version.get().saturating_sub(status.version.get())
}

fn sentence(status: &Status, rate: f64) -> String {
    let Status { version, source, gaps, .. } = status;
    let way = if status.connected { source.as_str() } else { "nothing" };
    let lag = lag(status);
    let text = format!("Version {version} from {way}, lag {lag}, {gaps} gaps, {rate:.1} events/s");
    match &status.trouble {
        Some(trouble) => format!("{text}: {trouble}"),
        None => text,
    }
}

/// With one decimal.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10.0).round() / 10.0
}

fn document(status: &Status, rate: f64) -> Value {
    let version: Offset = status.version;
    json!({"status": {
        "log_id": status.log_id, "version": version, "hash": status.hash, "recorded_at": status.recorded_at,
        "source": status.source.as_str(), "connected": status.connected, "lag": lag(status), "gaps": status.gaps,
        "events_per_second": (rate * 10.0).round() / 10.0, "trouble": status.trouble,
        "age_seconds": seconds(status.age), "heard_seconds_ago": seconds(status.heard_ago),
        "stopped": status.stopped.as_ref().map(|stopped| stopped.code()),
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_a_type_and_a_name() {
        assert_eq!(place("server:s:1").unwrap(), ("server".to_owned(), "s:1".to_owned()));
        assert_eq!(place("s1").unwrap_err().exit, Exit::Usage);
    }
}
