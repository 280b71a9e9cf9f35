//! The address of a database, which may hold a password: parsed once, shown without it. Must not know what is there.

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use std::{fmt, net::IpAddr, str::FromStr};

/// The longest name of a parameter that is shown.
const NAME_BYTES_MAX: usize = 30;

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
    /// What of the sign-in stands in the text itself.
    names_role: bool,
    names_password: bool,
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
    /// What stands after a `?` is no parameter: it may be of a password.
    #[error(
        "what follows `?` in the address of the database is no parameter; write a `?` in a password as `%3F`"
    )]
    NoParameter,
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

    /// Whether the address itself names the role; otherwise it is that of the environment.
    pub(crate) const fn names_role(&self) -> bool {
        self.names_role
    }

    /// Whether the address itself has a password.
    pub(crate) const fn names_password(&self) -> bool {
        self.names_password
    }

    /// The database's name; that of the role when none is given.
    pub fn database(&self) -> &str {
        self.options.get_database().unwrap_or_else(|| self.role())
    }

    /// Whether what is sent may be read on the way: another host, and encryption is not asked for.
    pub(crate) fn may_be_overheard(&self) -> bool {
        let host = self.options.get_host();
        let address = host.trim_matches(['[', ']']).parse();
        let here = host == "localhost" || address.is_ok_and(|address: IpAddr| address.is_loopback());
        let is_socket = self.options.get_socket().is_some() || host.starts_with('/');
        let mode = self.options.get_ssl_mode();
        let open = matches!(mode, PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer);
        open && !here && !is_socket
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
                let is_name = name.len() <= NAME_BYTES_MAX
                    && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
                let error =
                    if is_name { UrlError::Parameter(name.to_owned()) } else { UrlError::NoParameter };
                return Err(error);
            }
        }
        let (names_role, names_password) = signing_in(text, query);
        match text.parse() {
            Ok(options) => Ok(Self { options, names_role, names_password }),
            Err(sqlx::Error::Configuration(why)) => Err(UrlError::Malformed(why.to_string())),
            Err(_) => Err(UrlError::Malformed("it can't be read".into())),
        }
    }
}

/// Whether a role and a password stand in an address.
fn signing_in(text: &str, query: &str) -> (bool, bool) {
    let after = text.split_once("://").map_or("", |(_, after)| after);
    let authority = after.split(['/', '?']).next().unwrap_or_default();
    let (role, password) = match authority.rsplit_once('@') {
        Some((user, _)) => user.split_once(':').unwrap_or((user, "")),
        None => ("", ""),
    };
    let has = |name: &str| query.split('&').any(|pair| pair.strip_prefix(name).is_some_and(|v| v.len() > 1));
    (!role.is_empty() || has("user"), !password.is_empty() || has("password"))
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
    fn an_address_tells_what_of_the_sign_in_it_names() {
        for (text, role, password) in [
            ("postgres://ann:hunter2@db.example/charter", true, true),
            ("postgres://ann@db.example/charter", true, false),
            ("postgres://db.example/charter?user=ann&password=hunter2", true, true),
            ("postgres://db.example:6000/charter?user=", false, false),
            ("postgres://db.example", false, false),
        ] {
            let url: SecretUrl = text.parse().unwrap();
            assert_eq!((url.names_role(), url.names_password()), (role, password), "{text}");
        }
    }

    #[test]
    fn only_an_encrypted_way_to_another_host_is_private() {
        for (text, overheard) in [
            ("postgres://ann@db.example/charter", true),
            ("postgres://ann@db.example/charter?sslmode=prefer", true),
            ("postgres://ann@10.1.2.3/charter?sslmode=disable", true),
            ("postgres://ann@db.example/charter?sslmode=require", false),
            ("postgres://ann@db.example/charter?sslmode=verify-full", false),
            ("postgres://ann@localhost/charter", false),
            ("postgres://ann@127.0.0.1/charter", false),
            ("postgres://ann@[::1]/charter", false),
            ("postgres://ann@%2Frun%2Fpostgresql/charter", false),
        ] {
            assert_eq!(text.parse::<SecretUrl>().unwrap().may_be_overheard(), overheard, "{text}");
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
            "postgres://ann:any?hunter2@host/charter",
            "postgres://ann:any?x&hunter2@host/charter?sslmode=require",
        ] {
            let error = text.parse::<SecretUrl>().unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("ann:") && !shown.contains("hunter2@"), "{text}: {shown}");
        }
    }
}
