//! The address of a database, which may hold a password: parsed once, shown without it. Must not know what is there.

use sqlx::postgres::PgConnectOptions;
use std::{fmt, str::FromStr};

/// Parameters a URL may have after its `?`; another name is refused rather than ignored.
const PARAMETERS: [&str; 12] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// The address of a PostgreSQL database: `postgres://user:password@host:5432/database?sslmode=verify-full`.
///
/// What it leaves out comes from the environment, as for `psql` (`PGHOST`, `PGPASSWORD`, `~/.pgpass` …). It is shown
/// without its password and parameters.
#[derive(Clone)]
pub struct SecretUrl {
    options: PgConnectOptions,
}

/// Why a text is no address of a database. Never shows the text, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Another scheme.
    #[error("the address of a database begins with `postgres://` or `postgresql://`")]
    Scheme,
    /// A parameter that means nothing here.
    #[error("the address of the database has an unknown parameter `{0}`")]
    Parameter(String),
    /// Not a URL, or a value in it can't be read.
    #[error("the address of the database is no URL: {0}")]
    Malformed(String),
}

impl SecretUrl {
    /// How to connect.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    /// The role that signs in.
    pub fn role(&self) -> &str {
        self.options.get_username()
    }

    /// The database's name; that of the role when none is given.
    pub fn database(&self) -> &str {
        self.options.get_database().unwrap_or_else(|| self.role())
    }

    /// Where the server is: host and port, or the folder of its socket.
    pub fn server(&self) -> String {
        match self.options.get_socket() {
            Some(folder) => folder.display().to_string(),
            None => format!("{}:{}", self.options.get_host(), self.options.get_port()),
        }
    }
}

impl FromStr for SecretUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(UrlError::Scheme);
        }
        let query = text.split_once('?').map_or("", |(_, query)| query);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let name = pair.split_once('=').map_or(pair, |(name, _)| name);
            if !PARAMETERS.contains(&name) {
                return Err(UrlError::Parameter(name.chars().take(40).collect()));
            }
        }
        match text.parse() {
            Ok(options) => Ok(Self { options }),
            Err(sqlx::Error::Configuration(why)) => Err(UrlError::Malformed(why.to_string())),
            Err(_) => Err(UrlError::Malformed("it can't be read".into())),
        }
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@{}/{}", self.role(), self.server(), self.database())
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password_and_parameters() {
        for text in [
            "postgres://ann:hunter2@db.example:6000/charter?sslmode=disable",
            "postgresql://ann@db.example:6000/charter?password=hunter2",
        ] {
            let url: SecretUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), "postgres://ann@db.example:6000/charter");
            let shown = format!("{url:?} {url:#?} {url}");
            assert!(!shown.contains("hunter2") && !shown.contains("sslmode"), "{shown}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_showing_it() {
        for text in [
            "mysql://ann:hunter2@host/charter",
            "ann:hunter2@host",
            "postgres://ann:hunter2@host:port/charter",
            "postgres://ann@host/charter?pasword=hunter2",
            "postgres://ann:hunter2@host/charter?sslmode=hunter2x",
        ] {
            let error = text.parse::<SecretUrl>().unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("ann:") && !shown.contains("hunter2@"), "{shown}");
        }
    }
}
