//! Where the programs are. What is missing is named together with what installs it.

use anyhow::{Context, bail, ensure};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The oldest nats-server whose streams do what the publisher asks for.
const NATS_VERSION_MIN: (u32, u32) = (2, 10);
/// The programs of PostgreSQL that are used.
const POSTGRES_PROGRAMS: &[&str] = &["initdb", "postgres", "psql"];

/// The folder of PostgreSQL's programs: `CHARTER_PG_BIN`, else what `pg_config` says, else the newest that Debian's
/// packages installed, else one on the path.
pub(crate) fn postgres_bin() -> anyhow::Result<PathBuf> {
    if let Some(folder) = std::env::var_os("CHARTER_PG_BIN").map(PathBuf::from) {
        let missing = POSTGRES_PROGRAMS.iter().find(|name| !folder.join(name).is_file());
        ensure!(
            missing.is_none(),
            "CHARTER_PG_BIN: there is no `{}` in {}",
            missing.unwrap_or(&""),
            folder.display()
        );
        return Ok(folder);
    }
    let candidates = pg_config().into_iter().chain(debian()).chain(on_path());
    candidates.into_iter().find(|folder| has_postgres(folder)).context(
        "PostgreSQL is missing: install it with `make need-postgres` or `sudo apt-get install postgresql`, \
         or set CHARTER_PG_BIN to the folder of its programs",
    )
}

fn has_postgres(folder: &Path) -> bool {
    POSTGRES_PROGRAMS.iter().all(|name| folder.join(name).is_file())
}

fn pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim()))
}

/// Newest first.
fn debian() -> Vec<PathBuf> {
    let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") else { return Vec::new() };
    let mut found: Vec<(u32, PathBuf)> = versions
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn on_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// The nats-server: `CHARTER_NATS_SERVER`, else the one `make` put into this checkout, else one on the path that is
/// new enough.
pub(crate) fn nats_server() -> anyhow::Result<PathBuf> {
    if let Some(program) = std::env::var_os("CHARTER_NATS_SERVER").map(PathBuf::from) {
        let version = nats_version(&program).with_context(|| {
            format!("CHARTER_NATS_SERVER: {} does not tell its version", program.display())
        })?;
        ensure!(version >= NATS_VERSION_MIN, "CHARTER_NATS_SERVER: {} is older than 2.10", program.display());
        return Ok(program);
    }
    let ours = checkout().join(".venv/bin/nats-server");
    let candidates: Vec<_> =
        std::iter::once(ours).chain(on_path().into_iter().map(|folder| folder.join("nats-server"))).collect();
    let mut old = None;
    for program in candidates.into_iter().filter(|program| program.is_file()) {
        match nats_version(&program) {
            Some(version) if version >= NATS_VERSION_MIN => return Ok(program),
            _ => old = old.or(Some(program)),
        }
    }
    let found = old.map(|program| format!(" ({} is too old)", program.display())).unwrap_or_default();
    bail!(
        "nats-server 2.10 or newer is missing{found}: install it with `make need-nats`, or set CHARTER_NATS_SERVER"
    )
}

/// The checkout this was built from.
pub(crate) fn checkout() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

fn nats_version(program: &Path) -> Option<(u32, u32)> {
    let output = Command::new(program).arg("--version").output().ok()?;
    version_in(&String::from_utf8(output.stdout).ok()?)
}

/// `nats-server: v2.15.1` → (2, 15).
fn version_in(text: &str) -> Option<(u32, u32)> {
    let (_, version) = text.trim().rsplit_once('v')?;
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_nats_server_is_read() {
        for (text, version) in [
            ("nats-server: v2.15.1\n", Some((2, 15))),
            ("nats-server: v2.9.10", Some((2, 9))),
            ("nats-server: v2.11.0-RC.1", Some((2, 11))),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(version_in(text), version, "{text}");
        }
    }
}
