//! A server process that never outlives whoever started it, and the port it gets.

use anyhow::{Context, ensure};
use std::{
    fs::File,
    io::Write,
    net::TcpListener,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How often a start is tried again because somebody else took the port in between.
pub(crate) const PORT_TRIES_MAX: usize = 8;
/// How long a server may take until it answers.
pub(crate) const READY_SECONDS_MAX: u64 = 60;
/// How long a server may take to end before it is killed.
const STOP_SECONDS_MAX: u64 = 30;
/// How many of a log's last characters an error shows.
const LOG_CHARS_MAX: usize = 2_000;

/// Reads from its parent which process it watches (`pid N`), that it has ended (`gone`), or that nothing is left to do
/// (`done`). When the pipe closes without that the parent was killed: it ends the process and removes the folder.
/// `$1` the signal, `$2` the folder or nothing.
const WATCHDOG: &str = r#"
pid=
while read -r word number; do
  case "$word" in
    pid) pid=$number ;;
    gone) pid= ;;
    done) exit 0 ;;
  esac
done
if [ -n "$pid" ]; then
  kill -s "$1" "$pid" 2>/dev/null
  tries=0
  while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -s KILL "$pid" 2>/dev/null
fi
[ -z "$2" ] || rm -rf "$2"
"#;

/// Sends a signal, such as `TERM`, to a process.
///
/// # Errors
/// When there is no such process, or it is not ours.
pub fn signal(pid: u32, name: &str) -> anyhow::Result<()> {
    // The shell's own `kill`: small systems have no program of that name.
    let status = Command::new("sh")
        .args(["-c", r#"kill -s "$1" "$2""#, "sh", name, &pid.to_string()])
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "process {pid} could not be sent SIG{name}");
    Ok(())
}

/// Where ports are looked for: below those that systems give to whoever connects. A program that tries again and
/// again to reach a server that is down would else be given that server's port, and connect to itself.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// A loopback port that is free at this moment; another process may take it before the server does.
///
/// # Errors
/// When none is free.
pub fn free_port() -> anyhow::Result<u16> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
    let start = (now / 1_000)
        .wrapping_add(std::process::id().wrapping_mul(31))
        .wrapping_add(COUNTER.fetch_add(97, Ordering::Relaxed));
    let count = u32::from(PORTS.end - PORTS.start);
    let mut ports = (0..count).filter_map(|step| {
        let place = u16::try_from(start.wrapping_add(step) % count).ok()?;
        PORTS.start.checked_add(place)
    });
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.context("no free port on 127.0.0.1")
}

/// Ends the server when this process ends in any way, also by SIGKILL.
pub(crate) struct Watchdog {
    child: Child,
    pipe: Mutex<Option<ChildStdin>>,
}

impl Watchdog {
    /// `remove`: a folder to be removed after the server has ended.
    pub(crate) fn start(signal: &str, remove: Option<&Path>) -> anyhow::Result<Self> {
        let mut child = Command::new("sh")
            .args(["-c", WATCHDOG, "sh", signal])
            .arg(remove.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal goes to the whole group: the watchdog has to outlive it.
            .process_group(0)
            .spawn()
            .context("no watchdog: `sh` could not be started")?;
        let pipe = Mutex::new(child.stdin.take());
        Ok(Self { child, pipe })
    }

    /// This process is watched from now on. As a child of ours that was not waited for it keeps its number.
    pub(crate) fn watch(&self, child: &Child) {
        self.tell(&format!("pid {}\n", child.id()));
    }

    /// The process was waited for: its number may be another's soon.
    pub(crate) fn forget(&self) {
        self.tell("gone\n");
    }

    /// It stays on watch until this process ends.
    pub(crate) fn stay(&self) {
        std::mem::forget(self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn tell(&self, line: &str) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = pipe.as_mut() {
            // When it is gone already there is nobody to tell.
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.tell("done\n");
        if self.pipe.get_mut().is_ok_and(|pipe| pipe.is_some()) {
            let _ = self.child.wait();
        }
    }
}

/// Starts a server in a process group of its own, so that Ctrl-C reaches the programs that use it first.
pub(crate) fn spawn(command: &mut Command, log: &Path) -> anyhow::Result<Child> {
    let output = File::options().create(true).append(true).open(log)?;
    let program = PathBuf::from(command.get_program());
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .spawn()
        .with_context(|| format!("{} could not be started", program.display()))
}

/// Waits until a server is ready; `false` when it ended instead.
pub(crate) fn wait_ready(child: &mut Child, ready: impl Fn() -> bool) -> anyhow::Result<bool> {
    let deadline = Instant::now() + Duration::from_secs(READY_SECONDS_MAX);
    loop {
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        if ready() {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal that ends the server and waits for that; kills it when it takes too long.
pub(crate) fn end(child: &mut Child, name: &str) -> anyhow::Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    signal(child.id(), name)?;
    let deadline = Instant::now() + Duration::from_secs(STOP_SECONDS_MAX);
    while child.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The end of a server's log, for an error.
pub(crate) fn log_tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let skipped = text.chars().count().saturating_sub(LOG_CHARS_MAX);
    text.chars().skip(skipped).collect()
}

/// As many hexadecimal digits of randomness as a password needs.
pub(crate) fn password() -> anyhow::Result<String> {
    use std::io::Read;
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).context("no randomness")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_ends_the_process_and_removes_the_folder_only_when_its_parent_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        for (is_forgotten, ends) in [(true, false), (false, true)] {
            let mut child = Command::new("sleep").arg("60").spawn().unwrap();
            let watchdog = Watchdog::start("TERM", Some(folder.path())).unwrap();
            watchdog.watch(&child);
            if is_forgotten {
                watchdog.forget();
                drop(watchdog);
                assert!(folder.path().exists());
            } else {
                // As the system does it for a parent that was killed.
                drop(watchdog.pipe.lock().unwrap().take());
                let status = child.wait().unwrap();
                assert!(!status.success());
            }
            assert_eq!(child.try_wait().unwrap().is_some(), ends);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while folder.path().exists() {
            assert!(Instant::now() < deadline, "the folder is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
