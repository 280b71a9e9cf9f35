//! Where a server listens, and how far those are trusted who reach it there: TLS, plain text beyond this machine,
//! proxies, and how often somebody may ask.

use super::PORT;
use crate::{
    app::path_or_empty,
    exit::{Doing, Failure, Outcome},
    settings::exposed,
};
use charter_http::{HttpConfig, IpNet, Listening, RateLimit, Tls};
use std::{
    fs::File,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// How often the files of a certificate are looked at.
const LOOKED_EVERY: Duration = Duration::from_secs(30);
/// What the file of a certificate's key is, where it is told.
const PRIVATE_KEY: &str = "a private key";
/// How many seconds' requests may come at once.
const BURST_SECONDS: u32 = 2;

/// Where and how.
#[derive(Debug, clap::Args)]
pub(super) struct ListeningArgs {
    /// Where to listen: an address and a port; port 0 takes any free one. Beyond this machine it takes a certificate
    #[arg(long, env = "CHARTER_LISTEN", value_name = "ADDRESS", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))]
    pub(super) listen: SocketAddr,
    /// Speak TLS, with this PEM certificate and those that lead from it to a known one; read again when it changes, and
    /// on SIGHUP
    #[arg(long, env = "CHARTER_TLS_CERTIFICATE", value_name = "FILE", value_parser = path_or_empty())]
    tls_certificate: Option<PathBuf>,
    /// The PEM key of the certificate; a file that its owner alone may read
    #[arg(long, env = "CHARTER_TLS_KEY", value_name = "FILE", value_parser = path_or_empty())]
    tls_key: Option<PathBuf>,
    /// Answer other machines in plain text, passwords and tokens included; only where nobody else hears the network
    #[arg(long, env = "CHARTER_ALLOW_PLAINTEXT")]
    allow_plaintext: bool,
    /// Networks, such as 10.0.0.0/8, whose proxies are believed whom a request is from (`X-Forwarded-For` or
    /// `Forwarded`), for the access log and the bounds on how often somebody may ask
    #[arg(long, env = "CHARTER_TRUSTED_PROXY", value_name = "NETWORK", value_delimiter = ',')]
    trusted_proxy: Vec<IpNet>,
    /// How many connections one address, or one /64 of IPv6, may have open; more are closed at once. Trusted proxies
    /// are not counted; 0: no bound
    #[arg(long, env = "CHARTER_ADDRESS_CONNECTIONS", value_name = "COUNT", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    address_connections: u32,
    /// How many requests a second each caller who is signed in may make, twice as many at once; 0: no bound
    #[arg(long, env = "CHARTER_CALLER_RATE", value_name = "COUNT", default_value_t = 2_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    caller_rate: u32,
    /// How many of them with one session or one API token, twice as many at once; 0: as many as he may
    #[arg(long, env = "CHARTER_CREDENTIAL_RATE", value_name = "COUNT", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    credential_rate: u32,
    /// How many requests a second those who are not signed in may make from one address (and how many credentials may
    /// be refused there), ten times as many at once; 0: no bound
    #[arg(long, env = "CHARTER_ADDRESS_RATE", value_name = "COUNT", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    address_rate: u32,
}

impl ListeningArgs {
    /// The certificate, when there is to be TLS.
    pub(super) fn tls(&self) -> Outcome<Option<Tls>> {
        let given = |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
        match (given(&self.tls_certificate), given(&self.tls_key)) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                refuse_other_readers(&key, PRIVATE_KEY)?;
                let read = Tls::from_files(&certificate, &key);
                read.map(Some).map_err(|error| Failure::usage(format!("no TLS: {error}")))
            }
            (certificate, _) => {
                let missing = if certificate.is_some() { "--tls-key" } else { "--tls-certificate" };
                Err(Failure::usage(format!("TLS takes a certificate and its key: `{missing}` is missing")))
            }
        }
    }

    /// Refuses to answer other machines in plain text unless told to.
    pub(super) fn refuse_plaintext(&self) -> Outcome<()> {
        let encrypted = self.tls_certificate.as_ref().is_some_and(|path| !path.as_os_str().is_empty());
        if encrypted || self.allow_plaintext || self.listen.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "`{}` can be reached from other machines, and would be answered in plain text",
            self.listen
        ))
        .hint("give a certificate: `--tls-certificate FILE --tls-key FILE`")
        .hint("or listen on 127.0.0.1 and put a reverse proxy that speaks TLS in front of it")
        .hint("`--allow-plaintext` does it all the same: whoever hears the network has every password"))
    }

    /// Refuses to believe everybody.
    pub(super) fn refuse_trust_in_all(&self) -> Outcome<()> {
        match self.trusted_proxy.iter().find(|network| network.prefix_len() == 0) {
            None => Ok(()),
            Some(all) => {
                Err(Failure::usage(format!("`{all}` is everybody: anybody could say he is anybody")))
            }
        }
    }

    /// What of it the API goes by.
    pub(super) fn http(&self, config: HttpConfig) -> HttpConfig {
        let signed_in = |rate: u32| RateLimit::new(rate, rate.saturating_mul(BURST_SECONDS));
        HttpConfig {
            trusted_proxies: self.trusted_proxy.clone(),
            caller_rate: signed_in(self.caller_rate),
            credential_rate: signed_in(self.credential_rate),
            address_rate: RateLimit::new(self.address_rate, self.address_rate.saturating_mul(10)),
            ..config
        }
    }

    /// What of it the listener goes by.
    pub(super) fn how(&self, tls: Option<Tls>) -> Listening {
        Listening {
            tls,
            connections_of_address_max: NonZeroUsize::new(self.address_connections as usize),
            trusted_proxies: self.trusted_proxy.clone(),
        }
    }

    /// Reads the certificate again when its files change and when told to, for as long as the server runs. One that
    /// can't be used is told, and the one before it goes on.
    pub(super) fn keep_up(&self, tls: Tls) -> Outcome<()> {
        let files = [self.tls_certificate.clone(), self.tls_key.clone()].map(Option::unwrap_or_default);
        let mut told = told_to_read_again()?;
        tokio::spawn(async move {
            let mut seen = changed_at(&files);
            loop {
                let told = tokio::select! {
                    () = told.wait() => true,
                    () = tokio::time::sleep(LOOKED_EVERY) => false,
                };
                let now = changed_at(&files);
                if !told && now == seen {
                    continue;
                }
                seen = now;
                match refuse_other_readers(&files[1], PRIVATE_KEY).and_then(|()| Ok(tls.read_again()?)) {
                    Ok(()) => tracing::info!("the certificate was read again"),
                    Err(failure) => tracing::error!(
                        error = %failure.message,
                        "the new certificate can't be used, the one before goes on"
                    ),
                }
            }
        });
        Ok(())
    }
}

fn changed_at(files: &[PathBuf; 2]) -> [Option<SystemTime>; 2] {
    files.each_ref().map(|path| path.metadata().and_then(|metadata| metadata.modified()).ok())
}

/// Refuses a file with a secret that others of this machine may read or change.
pub(super) fn refuse_other_readers(path: &Path, what: &str) -> Outcome<()> {
    let file = File::open(path).doing(format_args!("read `{}`", path.display()))?;
    match exposed(&file).doing(format_args!("examine `{}`", path.display()))? {
        None => Ok(()),
        Some(why) => Err(Failure::usage(format!("`{}` is {what}, and {why}", path.display()))
            .hint(format!("`chmod 600 {}`, or 640 for a file of root's that a group reads", path.display()))),
    }
}

/// What says that files are to be read again.
#[cfg(unix)]
struct ReadAgain(tokio::signal::unix::Signal);

#[cfg(unix)]
fn told_to_read_again() -> Outcome<ReadAgain> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::hangup()).map(ReadAgain).doing("listen for SIGHUP")
}

#[cfg(unix)]
impl ReadAgain {
    async fn wait(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// Elsewhere nothing says so but the files themselves.
#[cfg(not(unix))]
struct ReadAgain;

#[cfg(not(unix))]
fn told_to_read_again() -> Outcome<ReadAgain> {
    Ok(ReadAgain)
}

#[cfg(not(unix))]
impl ReadAgain {
    async fn wait(&mut self) {
        std::future::pending::<()>().await;
    }
}
