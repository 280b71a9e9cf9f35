//! A database with the two roles an installation has: its owner, who migrates it, and the server's.

use crate::{find, shared_postgres};
use anyhow::{Context, ensure};
use std::{
    io::Write,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// A database of a PostgreSQL server, empty when it was made.
#[derive(Debug, Clone)]
pub struct Database {
    /// Its name.
    pub name: String,
    /// The superuser's URL of the server it is on.
    pub admin_url: String,
    /// Who owns it, and may make schemas in it.
    pub owner_url: String,
    /// Whom the server connects as; may connect, nothing more until it is granted.
    pub server_url: String,
    /// The name of that role.
    pub server_role: String,
}

impl Database {
    /// Makes a database and its roles `<name>_owner` and `<name>_server` unless they are there. The name consists of
    /// lower-case letters, digits and underscores.
    ///
    /// # Errors
    /// When the name is not of that form, or the server refuses.
    pub fn make(admin_url: &str, name: &str) -> anyhow::Result<Self> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        ensure!(
            !name.is_empty() && name.len() <= 50 && name.chars().all(is_plain),
            "not a plain name: `{name}`"
        );
        let (place, password) = parts(admin_url)?;
        psql(admin_url, &statements(name, password))?;
        let url = |role: &str| format!("postgres://{name}_{role}:{password}-{role}@{place}/{name}");
        Ok(Self {
            name: name.to_owned(),
            admin_url: admin_url.to_owned(),
            owner_url: url("owner"),
            server_url: url("server"),
            server_role: format!("{name}_server"),
        })
    }

    /// A new database on the server that the whole test run shares.
    ///
    /// # Errors
    /// As [`shared_postgres`] and [`Database::make`].
    pub fn fresh(prefix: &str) -> anyhow::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        // Process ids come back within a long run; the moment does not.
        let moment =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_micros() % 1_000_000_000;
        Self::make(&shared_postgres()?, &format!("{prefix}_{}_{moment}_{number}", std::process::id()))
    }

    /// The superuser's URL of this database.
    pub fn superuser_url(&self) -> String {
        self.admin_url
            .rsplit_once('/')
            .map_or_else(String::new, |(server, _)| format!("{server}/{}", self.name))
    }

    /// Runs statements as the superuser in this database; what they print, without headings.
    ///
    /// # Errors
    /// What the server says.
    pub fn sql(&self, statements: &str) -> anyhow::Result<String> {
        psql(&self.superuser_url(), statements)
    }

    /// Removes the database with its roles, ending every connection to it.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn remove(self) -> anyhow::Result<()> {
        let Self { name, admin_url, .. } = self;
        let statements = format!(
            "DROP DATABASE IF EXISTS {name} WITH (FORCE);\n\
             DROP ROLE IF EXISTS {name}_server;\nDROP ROLE IF EXISTS {name}_owner;\n"
        );
        psql(&admin_url, &statements).map(drop)
    }
}

/// `HOST:PORT` and the password of a URL of the form `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
fn parts(url: &str) -> anyhow::Result<(&str, &str)> {
    let parts = || {
        let (_, rest) = url.split_once("://")?;
        let (user, rest) = rest.rsplit_once('@')?;
        Some((rest.split('/').next()?, user.split_once(':')?.1))
    };
    parts().context("the superuser's URL is not of the form postgres://USER:PASSWORD@HOST:PORT/postgres")
}

/// Roles get passwords that follow from the superuser's: these servers are thrown away, and a URL stays good.
fn statements(name: &str, password: &str) -> String {
    let mut text = String::new();
    for role in ["owner", "server"] {
        text.push_str(&format!(
            "SELECT 'CREATE ROLE {name}_{role} LOGIN PASSWORD ''{password}-{role}''' \
             WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}_{role}') \\gexec\n"
        ));
    }
    text.push_str(&format!(
        "SELECT 'CREATE DATABASE {name} OWNER {name}_owner' \
         WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{name}') \\gexec\n\
         REVOKE ALL ON DATABASE {name} FROM PUBLIC;\n\
         GRANT CONNECT ON DATABASE {name} TO {name}_server;\n"
    ));
    text
}

/// Runs statements; what they print, without headings, fields parted by `|`.
pub(crate) fn psql(url: &str, statements: &str) -> anyhow::Result<String> {
    let mut child = Command::new(find::postgres_bin()?.join("psql"))
        .args([
            "--no-psqlrc",
            "--quiet",
            "--no-align",
            "--tuples-only",
            "--set=ON_ERROR_STOP=1",
            "--file=-",
            url,
        ])
        .env("PGCONNECT_TIMEOUT", "10")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("psql could not be started")?;
    if let Some(mut pipe) = child.stdin.take() {
        // When it ended already, its status and words tell why.
        let _ = pipe.write_all(statements.as_bytes());
    }
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
