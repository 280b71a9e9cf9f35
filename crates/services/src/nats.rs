//! A nats-server of our own with JetStream, in a folder that goes with it or stays.

use crate::{
    find,
    folder::Folder,
    process::{self, PORT_TRIES_MAX, Watchdog},
};
use anyhow::bail;
use std::{
    io::{BufRead, BufReader},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// What may be chosen of a server.
#[derive(Debug, Clone, Default)]
pub struct NatsSettings {
    /// Kept there; a temporary folder when there is none.
    pub folder: Option<PathBuf>,
    /// The port; a free one when there is none.
    pub port: Option<u16>,
    /// Text of its configuration file, such as `authorization { … }`; it must not say where to listen.
    pub config: Option<String>,
    /// Starts it without JetStream.
    pub without_jetstream: bool,
}

/// A running server; stopped on drop, its temporary folder removed.
pub struct Nats {
    program: PathBuf,
    settings: NatsSettings,
    name: String,
    port: u16,
    child: Mutex<Option<Child>>,
    watchdog: Watchdog,
    folder: Folder,
}

impl Nats {
    /// A new server that anybody on this machine may use.
    ///
    /// # Errors
    /// When no nats-server is installed that is new enough, or it does not start; with the end of its log.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(NatsSettings::default())
    }

    /// A server on a folder that stays.
    ///
    /// # Errors
    /// As [`Nats::start`].
    pub fn start_in(folder: &Path, port: Option<u16>) -> anyhow::Result<Self> {
        let folder = Some(folder.to_path_buf());
        Self::start_with(NatsSettings { folder, port, ..NatsSettings::default() })
    }

    /// A server as chosen.
    ///
    /// # Errors
    /// As [`Nats::start`].
    pub fn start_with(settings: NatsSettings) -> anyhow::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let folder = Folder::open(settings.folder.as_deref(), "charter-nats-")?;
        let watchdog = Watchdog::start("TERM", folder.to_remove())?;
        let mut server = Self {
            program: find::nats_server()?,
            name: format!("charter-{}-{number}", std::process::id()),
            port: 0,
            child: Mutex::default(),
            watchdog,
            settings,
            folder,
        };
        if let Some(config) = &server.settings.config {
            std::fs::write(server.config_file(), config)?;
        }
        server.first_start()?;
        Ok(server)
    }

    fn config_file(&self) -> PathBuf {
        self.folder.path().join("nats.conf")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn first_start(&mut self) -> anyhow::Result<()> {
        let kept = self.folder.path().join("port");
        let last = std::fs::read_to_string(&kept).ok().and_then(|text| text.trim().parse().ok());
        let mut wanted = self.settings.port.or(last);
        for _ in 0..PORT_TRIES_MAX {
            self.port = match wanted {
                Some(port) => port,
                None => process::free_port()?,
            };
            if self.start_process()? {
                std::fs::write(&kept, self.port.to_string())?;
                return Ok(());
            }
            if !process::log_tail(&self.log()).contains("address already in use") {
                break;
            }
            wanted = self.settings.port;
        }
        bail!("nats-server did not start: {}", process::log_tail(&self.log()))
    }

    /// Whether it came up.
    fn start_process(&self) -> anyhow::Result<bool> {
        let mut command = Command::new(&self.program);
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string(), "--server_name", &self.name]);
        if !self.settings.without_jetstream {
            command.arg("--jetstream").arg("--store_dir").arg(self.folder());
        }
        if self.settings.config.is_some() {
            command.arg("--config").arg(self.config_file());
        }
        let mut child = process::spawn(&mut command, &self.log())?;
        self.watchdog.watch(&child);
        let up = process::wait_ready(&mut child, || self.greets())?;
        if !up {
            self.watchdog.forget();
        }
        *self.child() = up.then_some(child);
        Ok(up)
    }

    /// Whether the server that listens there is this one.
    fn greets(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        let mut greeting = String::new();
        let read = BufReader::new(stream).read_line(&mut greeting);
        read.is_ok() && greeting.starts_with("INFO ") && greeting.contains(&self.name)
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its URL, without a user.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its URL with a user of the configuration.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        format!("nats://{user}:{password}@127.0.0.1:{}", self.port)
    }

    /// The port it listens on; stays over a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where JetStream keeps its streams; to be copied or replaced while the server is stopped.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("streams")
    }

    /// The process id of the server, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child().as_ref().map(Child::id)
    }

    /// Ends it by SIGKILL. Its folder stays for [`Nats::restart`].
    ///
    /// # Errors
    /// When the process can't be ended.
    pub fn kill(&self) -> anyhow::Result<()> {
        self.end("KILL")
    }

    /// Ends it in order. Its folder stays for [`Nats::restart`].
    ///
    /// # Errors
    /// When the process can't be ended.
    pub fn stop(&self) -> anyhow::Result<()> {
        self.end("TERM")
    }

    fn end(&self, signal: &str) -> anyhow::Result<()> {
        let Some(mut child) = self.child().take() else { return Ok(()) };
        process::end(&mut child, signal)?;
        self.watchdog.forget();
        Ok(())
    }

    /// Starts it again on the same folder and port; stops it first when it runs.
    ///
    /// # Errors
    /// As [`Nats::start`].
    pub fn restart(&self) -> anyhow::Result<()> {
        self.stop()?;
        for _ in 0..PORT_TRIES_MAX {
            if self.start_process()? {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(250));
        }
        bail!("nats-server did not start again: {}", process::log_tail(&self.log()))
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        if self.stop().is_err() {
            // The watchdog ends it then: it is not called off.
            self.watchdog.stay();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_killed_comes_back_on_its_port_and_folder() {
        let server = Nats::start().unwrap();
        let (url, folder, pid) = (server.url(), server.folder(), server.pid());
        server.kill().unwrap();
        assert!(!server.greets());
        assert!(folder.exists());

        server.restart().unwrap();

        assert_eq!((server.url(), server.folder()), (url, folder.clone()));
        assert_ne!(server.pid(), pid);
        assert!(server.greets());
        drop(server);
        assert!(!folder.exists());
    }

    #[test]
    fn a_port_that_is_taken_is_an_error_that_says_so() {
        let first = Nats::start().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let error = Nats::start_in(folder.path(), Some(first.port())).map(drop).unwrap_err();
        assert!(error.to_string().contains("address already in use"), "{error}");
    }

    #[test]
    fn a_configuration_is_used() {
        let config = "authorization { user: ada, password: secret }".to_owned();
        let server =
            Nats::start_with(NatsSettings { config: Some(config), ..NatsSettings::default() }).unwrap();
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        let mut greeting = String::new();
        BufReader::new(stream).read_line(&mut greeting).unwrap();
        assert!(greeting.contains("\"auth_required\":true"), "{greeting}");
    }
}
