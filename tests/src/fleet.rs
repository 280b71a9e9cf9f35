//! Several servers on one installation, and whether they, the log and the stream agree in the end.

use crate::{Caller, Installation, Load, Log, Metrics, Server, Stream, Urls, state_of};
use anyhow::{Context, ensure};
use charter_services::free_port;

/// How long the stream may take to have the whole log, once nothing more is appended.
const DRAIN_SECONDS_MAX: u64 = 60;

/// Servers on one installation, each with a number and a port that it keeps; some of them may be down.
pub struct Fleet {
    installation: Installation,
    servers: Vec<Option<Server>>,
    ports: Vec<u16>,
    urls: Urls,
    admin: Caller,
}

impl Fleet {
    /// Starts so many servers; the first one makes the administrator.
    ///
    /// # Errors
    /// When one does not start.
    pub async fn start(installation: Installation, count: usize) -> anyhow::Result<Self> {
        let ports = (0..count).map(|_| free_port()).collect::<anyhow::Result<Vec<_>>>()?;
        let (mut servers, mut admin) = (Vec::new(), None);
        for (number, port) in ports.iter().enumerate() {
            let server = Server::start_nth(&installation, number, *port).await?;
            if admin.is_none() {
                admin = Some(server.set_up().await?);
            }
            servers.push(Some(server));
        }
        let urls = Urls::new(servers.iter().flatten().map(|server| server.url.clone()));
        let admin = admin.context("a fleet has servers")?;
        Ok(Self { installation, servers, ports, urls, admin })
    }

    /// What they share.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// A server that is up.
    ///
    /// # Errors
    /// When it is down.
    pub fn server(&self, number: usize) -> anyhow::Result<&Server> {
        self.servers.get(number).and_then(Option::as_ref).with_context(|| format!("server {number} is down"))
    }

    /// The administrator, at one of the servers.
    ///
    /// # Errors
    /// When it is down.
    pub fn admin(&self, number: usize) -> anyhow::Result<Caller> {
        Ok(self.admin.at(&self.server(number)?.url))
    }

    /// A load on all of them.
    pub fn load(&self, name: &str) -> Load {
        Load::new(name, self.urls.clone(), &self.admin)
    }

    /// A load on one of them alone.
    ///
    /// # Errors
    /// When it is down.
    pub fn load_on(&self, name: &str, number: usize) -> anyhow::Result<Load> {
        Ok(Load::new(name, Urls::new([self.server(number)?.url.clone()]), &self.admin))
    }

    /// Ends one by SIGKILL.
    ///
    /// # Errors
    /// When it is down already.
    pub fn kill(&mut self, number: usize) -> anyhow::Result<()> {
        self.take(number)?.kill()
    }

    /// Ends one in order.
    ///
    /// # Errors
    /// When it is down already, or does not end cleanly.
    pub fn stop(&mut self, number: usize) -> anyhow::Result<()> {
        self.take(number)?.stop()
    }

    fn take(&mut self, number: usize) -> anyhow::Result<Server> {
        let server = self.servers.get_mut(number).and_then(Option::take);
        server.with_context(|| format!("server {number} is down"))
    }

    /// Starts one that is down, where it was.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start_again(&mut self, number: usize) -> anyhow::Result<()> {
        let place = self.servers.get_mut(number).zip(self.ports.get(number));
        let (place, port) = place.with_context(|| format!("there is no server {number}"))?;
        *place = Some(Server::start_nth(&self.installation, number, *port).await?);
        Ok(())
    }

    /// The server that publishes the log at this moment, by what it says of itself.
    pub async fn publisher(&self) -> Option<usize> {
        for number in 0..self.servers.len() {
            let Ok(admin) = self.admin(number) else { continue };
            let Ok(metrics) = Metrics::of(&admin).await else { continue };
            if metrics.value("charter_publisher_leads") == Some(1.0) {
                return Some(number);
            }
        }
        None
    }

    /// Once the load has ended: every acknowledged command is in the log once, where its answer said, and nothing
    /// else is; and all servers that are up answer from the same state, which is the log's.
    ///
    /// # Errors
    /// What does not hold.
    pub async fn agree(&self, load: &Load) -> anyhow::Result<Log> {
        let acknowledged = load.acknowledged();
        let last = acknowledged.values().copied().max().unwrap_or(0);
        let up = self.servers.iter().flatten().next().context("all servers are down")?;
        let log = Log::read(&self.admin.at(&up.url), last).await?;
        log.holds_once(&acknowledged, load.name())?;
        let (head, digest) = (log.head(), log.state_digest()?);
        for server in self.servers.iter().flatten() {
            let state = state_of(&self.admin.at(&server.url), head).await?;
            ensure!(state == digest, "at {head} the state is {digest}, the one of {} is {state}", server.url);
        }
        Ok(log)
    }

    /// The same, and the stream on the NATS server is the log, event for event.
    ///
    /// # Errors
    /// What does not hold.
    pub async fn agree_with_stream(&self, load: &Load, nats: &str) -> anyhow::Result<Log> {
        let log = self.agree(load).await?;
        let stream = Stream::of(nats, log.id).await?;
        stream.until(log.head(), DRAIN_SECONDS_MAX).await?;
        stream.equals(&log).await?;
        Ok(log)
    }

    /// Ends all in order and recomputes every hash of the log they leave.
    ///
    /// # Errors
    /// When one does not end cleanly, or the log is not as it must be.
    pub fn end(mut self) -> anyhow::Result<()> {
        for server in self.servers.iter_mut().filter_map(Option::take) {
            server.stop()?;
        }
        self.installation.verify()
    }
}
