//! A load of commands: many callers, who go on at another server with the same idempotency key when one does not
//! answer, until each command is acknowledged.

use crate::Caller;
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// How long a command may take until it is acknowledged by some server.
const COMMAND_SECONDS_MAX: u64 = 120;
/// How long a caller waits for one server before he asks another.
const ANSWER_SECONDS_MAX: u64 = 5;
/// What a caller waits before he tries again.
const AGAIN: Duration = Duration::from_millis(50);

/// Where the servers are, by their numbers. Clones share it.
#[derive(Debug, Clone)]
pub struct Urls(Arc<[String]>);

impl Urls {
    /// Of these servers.
    pub fn new(urls: impl IntoIterator<Item = String>) -> Self {
        Self(urls.into_iter().collect())
    }

    fn get(&self, number: usize) -> &str {
        self.0.get(number % self.0.len().max(1)).map_or("", String::as_str)
    }
}

/// Callers at work.
pub type Callers = Vec<tokio::task::JoinHandle<anyhow::Result<()>>>;

/// Commands on their way, and those that were acknowledged. Clones share it.
#[derive(Clone)]
pub struct Load {
    name: String,
    urls: Urls,
    caller: Caller,
    acknowledged: Arc<Mutex<BTreeMap<String, u64>>>,
    stop: Arc<AtomicBool>,
}

impl Load {
    /// Nothing yet. `name` begins the name of each of its commands.
    pub fn new(name: &str, urls: Urls, caller: &Caller) -> Self {
        Self {
            name: name.to_owned(),
            urls,
            caller: caller.clone(),
            acknowledged: Arc::default(),
            stop: Arc::default(),
        }
    }

    /// Starts callers, each with so many commands, one after the other. A caller ends early when told to by
    /// [`Load::stop`].
    pub fn start(&self, callers: usize, commands_each: usize) -> Callers {
        (0..callers)
            .map(|caller| {
                let load = self.clone();
                tokio::spawn(async move {
                    for number in 0..commands_each {
                        if load.stop.load(Ordering::Relaxed) {
                            break;
                        }
                        load.one(caller, number).await?;
                    }
                    Ok(())
                })
            })
            .collect()
    }

    /// With what each of its commands' names begins.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until every caller has ended.
    ///
    /// # Errors
    /// What a caller was answered that he can't go on with.
    pub async fn join(callers: Callers) -> anyhow::Result<()> {
        for caller in callers {
            caller.await??;
        }
        Ok(())
    }

    /// No caller begins another command.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// How many commands were acknowledged.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Every acknowledged command by its name, with the version its answer carried.
    pub fn acknowledged(&self) -> BTreeMap<String, u64> {
        self.lock().clone()
    }

    /// Waits until so many commands were acknowledged.
    ///
    /// # Errors
    /// When they are not within so many seconds.
    pub async fn until(&self, count: usize, seconds_max: u64) -> anyhow::Result<()> {
        let what = format!("{count} commands are acknowledged");
        let waited = crate::eventually(&what, seconds_max, async || self.count() >= count).await;
        waited.with_context(|| format!("there are {}", self.count()))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Three groups, then a grant to the last of them: a server that did not make the group has to find it.
    async fn one(&self, caller: usize, number: usize) -> anyhow::Result<()> {
        let named = |number: usize| format!("{}-{caller}-{number}", self.name);
        let name = named(number);
        if number % 4 == 3 {
            let subject = format!("group:{}", named(number - 1));
            let body = json!({"subject": subject, "permissions": ["core.user.read"], "scope": "global"});
            self.until_acknowledged(caller, &name, "/api/v1/grants", &body).await
        } else {
            self.until_acknowledged(caller, &name, "/api/v1/groups", &json!({"slug": name, "name": name}))
                .await
        }
    }

    async fn until_acknowledged(
        &self,
        first: usize,
        name: &str,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(COMMAND_SECONDS_MAX);
        let mut last = String::new();
        let mut server = first;
        loop {
            ensure!(
                Instant::now() < deadline,
                "{name}: not acknowledged within {COMMAND_SECONDS_MAX} s: {last}"
            );
            let caller = self.caller.at(self.urls.get(server));
            let request = caller
                .request(reqwest::Method::POST, path)
                .timeout(Duration::from_secs(ANSWER_SECONDS_MAX))
                // The key makes a repetition harmless; by the reason the command is found in the log.
                .header("idempotency-key", name)
                .header("x-reason", name)
                .json(body);
            match caller.send(request).await {
                Ok(answer) if answer.status == 201 => {
                    let version =
                        answer.version.with_context(|| format!("{name}: no version: {answer:?}"))?;
                    self.lock().insert(name.to_owned(), version);
                    return Ok(());
                }
                // Not taken, or not known whether: both are what the key is for.
                Ok(answer) if matches!(answer.status, 429 | 503) => last = format!("{answer:?}"),
                Ok(answer) => bail!("{name}: {answer:?}"),
                Err(error) => last = format!("{error:#}"),
            }
            tokio::time::sleep(AGAIN).await;
            server += 1;
        }
    }
}
