//! From a store to a running control plane.

use crate::{
    clock::StoreClock,
    config::Config,
    contact::Contact,
    control::{Control, Inner, Started},
    diff::Diffs,
    error::{CommandError, StartError},
    following::{self, Following},
    health::Health,
    identity::{self, Identity},
    leases::{self, Servers},
    load::{Folded, fold_log},
    mail::Mail,
    operations::Operations,
    past::Pasts,
    preview::Previews,
    profiles::Profiles,
    published::Published,
    request::{Request, RequestMeta},
    runner,
    seal::Sealing,
    secret::SecretText,
    snapshots,
    tables::{self, Tables},
    tick::Tick,
    tree, verify, writer,
};
use charter_commands::{Code, Command, CreateInstallation, UpsertCoreCatalog};
use charter_events::{DisplayName, Offset, Timestamp, Via};
use charter_policy::Caller;
use charter_store::{InstallationSecrets, Store, causes};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How an installation is shown that was given no name.
const DEFAULT_NAME: &str = "Charter";

pub(crate) async fn start(store: Arc<dyn Store>, config: Config) -> Result<Started, StartError> {
    writer::show_counters();
    let clock = StoreClock::new();
    let asked = Tick::now();
    if let Some(moment) = store.poll().await?.now {
        clock.measured(asked, Tick::now(), moment, config.clock.now());
    }
    let servers = Servers::new(&config, time(&clock, &config));
    let read = match read_while_alive(store.as_ref(), &config, &clock, &servers).await {
        Ok(read) => read,
        Err(error) => {
            servers.end(store.as_ref(), &config).await;
            return Err(error);
        }
    };
    let from_snapshot = read.0.from_snapshot;
    let (inner, jobs) = assemble(store, config, clock, servers, read);
    inner.tasks.spawn(writer::run(Arc::clone(&inner), jobs));
    inner.tasks.spawn(following::run(Arc::clone(&inner)));
    inner.tasks.spawn(following::listen(Arc::clone(&inner)));
    inner.tasks.spawn(following::announce(Arc::clone(&inner)));
    inner.tasks.spawn(leases::run(Arc::clone(&inner)));
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
    inner.tasks.spawn(tree::run(Arc::clone(&inner)));
    inner.tasks.spawn(tables::run(Arc::clone(&inner)));
    Ok(Started { control, setup_code, from_snapshot })
}

/// What is read of a store before anything is started.
type Read = (Folded, InstallationSecrets, tree::Keeping);

fn time(clock: &StoreClock, config: &Config) -> Timestamp {
    clock.now().unwrap_or_else(|| config.clock.now())
}

/// Reads the log. The others know from before the first event on that this server is there, however long it takes:
/// nobody writes what it can't read behind what it has read.
async fn read_while_alive(
    store: &dyn Store,
    config: &Config,
    clock: &StoreClock,
    servers: &Servers,
) -> Result<Read, StartError> {
    servers.renew(store, config, time(clock, config), Offset::ZERO).await?;
    let stay_alive = async {
        loop {
            tokio::time::sleep(config.lease_renew_every).await;
            if let Err(error) = servers.renew(store, config, time(clock, config), Offset::ZERO).await {
                tracing::warn!(error = %causes(&error), "the other servers can't be told that this one is alive");
            }
        }
    };
    let read = async {
        let folded = fold_log(store, config.progress.as_ref()).await?;
        let secrets = store.installation_secrets().await?;
        let tree = tree::Keeping::new(folded.head.log_id, &secrets)?;
        Ok((folded, secrets, tree))
    };
    tokio::select! {
        read = read => read,
        never = stay_alive => never,
    }
}

fn assemble(
    store: Arc<dyn Store>,
    config: Config,
    store_clock: StoreClock,
    servers: Servers,
    (folded, secrets, tree): Read,
) -> (Arc<Inner>, writer::Jobs) {
    let (queue, jobs) = writer::Queue::new(config.queue_commands_max);
    let inner = Inner {
        sealing: Sealing::new(folded.head.log_id, secrets.tag_key),
        published: Published::new(folded.policy, folded.head),
        health: Health::default(),
        contact: Contact::new(config.follow_every.map(|every| every + config.store_wait)),
        store_clock,
        following: Following::new(),
        servers,
        catalog_due: AtomicBool::new(true),
        housekeeper: tokio::sync::Mutex::default(),
        operations: Operations::default(),
        tables: Tables::default(),
        queue,
        profiles: Profiles::new(),
        tree,
        identity: Identity::new(&config),
        mail: Mail::new(),
        cursor_key: *secrets.cursor_key.expose(),
        keys_file: crate::backup::KeysFile::new(),
        last_snapshot: snapshots::Last::new(folded.from_snapshot.unwrap_or(Offset::ZERO)),
        diffs: Diffs::default(),
        previews: Previews::default(),
        pasts: Pasts::new(config.past_policies_max),
        tasks: TaskTracker::new(),
        stop: CancellationToken::new(),
        store,
        config,
    };
    (Arc::new(inner), jobs)
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
    match bring_catalog_up_to_date(control).await {
        // The clock's work tries again; the older servers stop one after another, and this one is to take their place.
        Err(CommandError::UpgradeInProgress { reason }) => {
            tracing::warn!(reason, "core's catalog stays as it is for now");
        }
        done => done?,
    }
    if control.inner.config.make_setup_code { identity::renew_setup_code(control).await } else { Ok(None) }
}

/// Core's catalog as this build knows it, if it was not brought up to it yet.
pub(crate) async fn bring_catalog_up_to_date(control: &Control) -> Result<(), CommandError> {
    if control.inner.catalog_due.load(Ordering::Relaxed) {
        by_system(control, UpsertCoreCatalog {}.into()).await?;
        control.inner.catalog_due.store(false, Ordering::Relaxed);
    }
    Ok(())
}

async fn by_system(control: &Control, command: Command) -> Result<(), CommandError> {
    control.submit(Request::new(Caller::System, command, RequestMeta::new(Via::System))).await.map(|_| ())
}
