//! What can be set about a running control plane. Every bound has its unit in its name.

use crate::{
    clock::{Clock, SystemClock},
    mail::Mailer,
};
use charter_commands::Limits;
use charter_events::{DisplayName, Issuer, Offset};
use charter_tables::{PROJECTIONS, Projection};
use std::{sync::Arc, time::Duration};

/// How far a start has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The last event folded.
    pub done: Offset,
    /// The last event there is.
    pub total: Offset,
}

/// Told now and then how far a start has come.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// Bounds on guessing passwords. A bucket holds `burst` attempts and gains one each `refill`.
#[derive(Debug, Clone, Copy)]
pub struct SignInLimits {
    /// Attempts at one name at once.
    pub per_name_burst: u32,
    /// How long until one more attempt at the name.
    pub per_name_refill: Duration,
    /// Attempts at all names together at once.
    pub overall_burst: u32,
    /// How long until one more attempt at any name.
    pub overall_refill: Duration,
    /// How many passwords are hashed at the same time.
    pub hashing_at_once_max: usize,
    /// How many sign-ins wait for their turn.
    pub hashing_waiting_max: usize,
}

impl Default for SignInLimits {
    fn default() -> Self {
        Self {
            per_name_burst: 10,
            per_name_refill: Duration::from_secs(15),
            overall_burst: 200,
            overall_refill: Duration::from_millis(50),
            hashing_at_once_max: 2,
            hashing_waiting_max: 64,
        }
    }
}

/// What a server tells the others of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its build, such as `0.1.0`; at most 64 bytes.
    pub build: String,
}

impl Default for ServerInfo {
    fn default() -> Self {
        Self { build: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// What can be set about a running control plane.
#[derive(Clone)]
pub struct Config {
    /// How a new installation is shown.
    pub installation_name: Option<DisplayName>,
    /// Bounds of the model.
    pub limits: Limits,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Told how far a start has come.
    pub progress: Option<ProgressFn>,
    /// How many past states are kept for further questions, large ones fewer: each may be as large as the present one.
    pub past_policies_max: usize,
    /// How long a question about the past waits for its state to be replayed.
    pub past_wait: Duration,
    /// How many commands may wait for the writer.
    pub queue_commands_max: usize,
    /// How many commands one transaction takes.
    pub batch_commands_max: usize,
    /// How long a read waits for the version it asked for.
    pub version_wait: Duration,
    /// A snapshot is written after so many events, …
    pub snapshot_every_events: u64,
    /// … and after so long if anything happened; …
    pub snapshot_every: Duration,
    /// … both are looked for this often.
    pub snapshot_check_every: Duration,
    /// How often the clock's own work is done: expiries, old answers, last uses.
    pub housekeeping_every: Duration,
    /// How often the log is asked for what other servers appended; never when only one server can write.
    pub follow_every: Option<Duration>,
    /// How long the store may take to say where the log ends before it counts as away.
    pub store_wait: Duration,
    /// How long the head's lock is waited for while other servers hold it.
    pub lock_wait: Duration,
    /// While the store is away, questions are answered at the version there is for so long.
    pub stale_decisions: Duration,
    /// What this server tells the others of itself.
    pub server: ServerInfo,
    /// A server that has not been heard of for so long is taken to be gone.
    pub lease_length: Duration,
    /// How often a server says that it is alive.
    pub lease_renew_every: Duration,
    /// The whole log is verified this long after the last time, and once after start; never when absent.
    pub verify_every: Option<Duration>,
    /// How many events a second the background verification reads.
    pub verify_events_per_second: u32,
    /// Which projections' tables this server keeps up to date, when it leads that work; none: it never does.
    pub projections: Vec<&'static dyn Projection>,
    /// How many events the tables take at once at most; a command is never divided.
    pub tables_batch_events_max: usize,
    /// How often it is looked whether somebody wants the tables rebuilt, or another server keeps them now.
    pub tables_look_every: Duration,
    /// How often a checkpoint of the log is signed while it grows.
    pub sign_every: Duration,
    /// How long a session lasts, whatever happens in it.
    pub session_length: Duration,
    /// Bounds on guessing passwords.
    pub sign_in: SignInLimits,
    /// The way to a mail server; none: links are shown to whoever asks for them.
    pub mailer: Option<Arc<dyn Mailer>>,
    /// The pause before a letter is tried again; each further one is longer.
    pub mail_pause: Duration,
    /// How long a server that ends waits for letters that are under way.
    pub mail_drain: Duration,
    /// Where people reach this installation: what links begin with.
    pub public_url: Option<String>,
    /// The identity provider people may sign in at.
    pub oidc_issuer: Option<Issuer>,
    /// Whether a directory's ids of its people are what that provider calls them: then a directory that sets one links
    /// the account to that identity.
    pub oidc_scim_external_id: bool,
    /// How long an invitation waits.
    pub invitation_length: Duration,
    /// How long a link for a forgotten password works.
    pub reset_length: Duration,
    /// Where backups go; none can be taken when absent.
    pub backups: Option<Arc<dyn crate::backup::Backups>>,
    /// Whether a setup code is made while there never was an administrator.
    pub make_setup_code: bool,
    /// Guards a test takes out, to see that it notices.
    #[cfg(test)]
    pub removed: charter_commands::Guards,
    /// What a test wants done at each step of the writer.
    #[cfg(any(test, feature = "failpoints"))]
    pub hooks: Option<Arc<dyn crate::failpoints::Hooks>>,
    /// A mistake a test builds into the writer, to see that it notices.
    #[cfg(any(test, feature = "failpoints"))]
    pub seeded: Option<crate::failpoints::Bug>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            installation_name: None,
            limits: Limits::default(),
            clock: Arc::new(SystemClock),
            progress: None,
            past_policies_max: 4,
            past_wait: Duration::from_secs(20),
            queue_commands_max: 4_096,
            batch_commands_max: 128,
            version_wait: Duration::from_secs(5),
            snapshot_every_events: 50_000,
            snapshot_every: Duration::from_secs(30 * 60),
            snapshot_check_every: Duration::from_secs(60),
            housekeeping_every: Duration::from_secs(10),
            follow_every: None,
            store_wait: Duration::from_secs(2),
            lock_wait: Duration::from_secs(10),
            stale_decisions: Duration::from_secs(10),
            server: ServerInfo::default(),
            lease_length: Duration::from_secs(10),
            lease_renew_every: Duration::from_secs(3),
            verify_every: Some(Duration::from_secs(24 * 3_600)),
            verify_events_per_second: 20_000,
            projections: PROJECTIONS.to_vec(),
            tables_batch_events_max: 5_000,
            tables_look_every: Duration::from_millis(500),
            sign_every: Duration::from_secs(1),
            session_length: Duration::from_secs(12 * 3_600),
            sign_in: SignInLimits::default(),
            mailer: None,
            mail_pause: Duration::from_secs(2),
            mail_drain: Duration::from_secs(10),
            public_url: None,
            oidc_issuer: None,
            oidc_scim_external_id: false,
            invitation_length: Duration::from_secs(7 * 24 * 3_600),
            reset_length: Duration::from_secs(3_600),
            backups: None,
            make_setup_code: true,
            #[cfg(test)]
            removed: charter_commands::Guards::NONE,
            #[cfg(any(test, feature = "failpoints"))]
            hooks: None,
            #[cfg(any(test, feature = "failpoints"))]
            seeded: None,
        }
    }
}
