//! From a store to a running control plane.

use crate::{
    config::Config,
    contact::Contact,
    control::{Control, Inner, Started},
    error::{CommandError, StartError},
    health::Health,
    identity::{self, Identity},
    load::fold_log,
    profiles::Profiles,
    published::Published,
    request::{Request, RequestMeta},
    runner,
    seal::Sealing,
    secret::SecretText,
    snapshots, verify, writer,
};
use charter_commands::{Code, Command, CreateInstallation, UpsertCoreCatalog};
use charter_events::{DisplayName, Offset, Via};
use charter_policy::Caller;
use charter_store::Store;
use std::sync::Arc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How an installation is shown that was given no name.
const DEFAULT_NAME: &str = "Charter";

pub(crate) async fn start(store: Arc<dyn Store>, config: Config) -> Result<Started, StartError> {
    let folded = fold_log(store.as_ref(), config.progress.as_ref()).await?;
    let secrets = store.installation_secrets().await?;
    let (queue, jobs) = writer::Queue::new(config.queue_commands_max);
    let inner = Arc::new(Inner {
        sealing: Sealing::new(folded.head.log_id, secrets.tag_key),
        published: Published::new(folded.policy, folded.head),
        health: Health::default(),
        contact: Contact::new(config.follow_every.map(|every| every + config.store_wait)),
        queue,
        profiles: Profiles::new(),
        identity: Identity::new(&config),
        cursor_key: *secrets.cursor_key.expose(),
        last_snapshot: snapshots::Last::new(folded.from_snapshot.unwrap_or(Offset::ZERO)),
        tasks: TaskTracker::new(),
        stop: CancellationToken::new(),
        store,
        config,
    });
    inner.tasks.spawn(writer::run(Arc::clone(&inner), jobs));
    let control = Control { inner: Arc::clone(&inner) };
    let setup_code = match prepare(&control).await {
        Ok(code) => code,
        Err(error) => {
            control.shutdown().await;
            return Err(error);
        }
    };
    inner.tasks.spawn(snapshots::run(Arc::clone(&inner)));
    inner.tasks.spawn(runner::run(Arc::clone(&inner)));
    inner.tasks.spawn(verify::run(Arc::clone(&inner)));
    Ok(Started { control, setup_code, from_snapshot: folded.from_snapshot })
}

/// The first events of an empty log, core's catalog as this build knows it, and a fresh setup code if one is needed.
async fn prepare(control: &Control) -> Result<Option<SecretText>, StartError> {
    if control.head().offset == Offset::ZERO {
        let name = match &control.inner.config.installation_name {
            Some(name) => name.clone(),
            None => DEFAULT_NAME.parse::<DisplayName>()?,
        };
        match by_system(control, CreateInstallation { name }.into()).await {
            Ok(()) => {}
            // Another server was faster.
            Err(CommandError::Refused(refusal)) if refusal.code == Code::AlreadyInstalled => {}
            Err(error) => return Err(error.into()),
        }
    }
    by_system(control, UpsertCoreCatalog {}.into()).await?;
    if control.inner.config.make_setup_code { identity::renew_setup_code(control).await } else { Ok(None) }
}

async fn by_system(control: &Control, command: Command) -> Result<(), CommandError> {
    control.submit(Request::new(Caller::System, command, RequestMeta::new(Via::System))).await.map(|_| ())
}
