//! What a starting server tells: where its data is, who else is there, how to go on, and last where it listens.

use super::PORT;
use crate::cmd::store::Place;
use charter_store::Lease;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};
use uuid::Uuid;

/// Everything that is told.
pub(super) struct Banner<'a> {
    /// Where everything is kept.
    pub(super) place: &'a Place,
    /// Where the log is published, without secrets; and what keeps it from being published now.
    pub(super) stream: Option<(String, Option<String>)>,
    /// This server, when there may be others.
    pub(super) server: Option<Uuid>,
    /// The others that are alive.
    pub(super) others: &'a [Lease],
    /// By which somebody becomes the first administrator.
    pub(super) setup_code: Option<&'a str>,
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// Whether it speaks TLS there.
    pub(super) encrypted: bool,
}

impl Banner<'_> {
    /// The text.
    pub(super) fn text(&self) -> String {
        let mut text = format!("Charter {}\n", env!("CARGO_PKG_VERSION"));
        let mut line = |name: &str, value: String| text.push_str(&format!("  {name:13} {value}\n"));
        match self.place {
            Place::Folder(path) => line("data folder:", path.display().to_string()),
            Place::Database { data, .. } => {
                line("database:", self.place.to_string());
                line("snapshots:", data.join("snapshots").display().to_string());
            }
        }
        if let Some((url, trouble)) = &self.stream {
            let state = trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            line("stream:", format!("{url}{state}"));
        }
        if let Some(server) = self.server {
            line("server:", format!("{server}{}", beside(self.others)));
        }
        if let Some(code) = self.setup_code {
            text.push_str(&self.setup(code));
        }
        text.push_str(&format!("  listening on  {}\n", self.url()));
        text
    }

    fn url(&self) -> String {
        format!("{}://{}", if self.encrypted { "https" } else { "http" }, self.address)
    }

    fn setup(&self, code: &str) -> String {
        let program = program();
        let url = self.url();
        let server = if self.address.port() == PORT && !self.encrypted {
            String::new()
        } else {
            format!(" --server {url}")
        };
        format!(
            "  setup code:   {code}\n\nNobody is administrator yet. Whoever has this code may become the first:\n\n  \
             {program} setup --code {code}{server}\n\n"
        )
    }
}

/// Who else is alive, by build.
fn beside(others: &[Lease]) -> String {
    let mut builds: Vec<&str> = others.iter().map(|lease| lease.build.as_str()).collect();
    builds.sort_unstable();
    builds.dedup();
    match others.len() {
        0 => String::new(),
        1 => format!(", beside another (build {})", builds.join(", ")),
        count => format!(", beside {count} others (build {})", builds.join(", ")),
    }
}

/// The program as it is to be typed: by its name where the shell finds it, else by its path.
fn program() -> String {
    const NAME: &str = "charter";
    let Ok(this) = std::env::current_exe() else { return NAME.to_owned() };
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(NAME) == this));
    let here = std::env::current_dir().ok();
    let shown: PathBuf = here
        .and_then(|here| this.strip_prefix(here).ok().map(Path::to_path_buf))
        .unwrap_or_else(|| this.clone());
    if found { NAME.to_owned() } else { shown.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use charter_events::{Offset, Timestamp};

    fn lease(build: &str) -> Lease {
        Lease {
            server: Uuid::from_u128(9),
            build: build.to_owned(),
            started_at: Timestamp::MIN,
            version: Offset::ZERO,
            knows: Vec::new(),
            expires_at: Timestamp::MAX,
        }
    }

    #[test]
    fn a_server_on_a_database_tells_everything_but_passwords() {
        let url = Box::new("postgres://charter:hunter2@db.example/charter".parse().unwrap());
        let banner = Banner {
            place: &Place::Database { url, data: "/var/lib/charter".into() },
            stream: Some((
                "nats://***@localhost:4222".to_owned(),
                Some("away: connection refused".to_owned()),
            )),
            server: Some(Uuid::from_u128(7)),
            others: &[lease("0.2.0"), lease("0.1.0"), lease("0.2.0")],
            setup_code: None,
            address: "127.0.0.1:7400".parse().unwrap(),
            encrypted: false,
        };
        let expected = "
  database:     db.example:5432/charter
  snapshots:    /var/lib/charter/snapshots
  stream:       nats://***@localhost:4222 (away: connection refused)
  server:       00000000-0000-0000-0000-000000000007, beside 3 others (build 0.1.0, 0.2.0)
  listening on  http://127.0.0.1:7400
";
        assert_eq!(banner.text().split_once('\n').map(|(_, told)| format!("\n{told}")).unwrap(), expected);
    }

    #[test]
    fn a_setup_code_stands_before_the_address_with_the_command_that_takes_it() {
        let banner = Banner {
            place: &Place::Folder("d".into()),
            stream: None,
            server: None,
            others: &[],
            setup_code: Some("AAAA-B"),
            address: "127.0.0.1:7401".parse().unwrap(),
            encrypted: false,
        };
        let text = banner.text();
        assert!(text.contains("  data folder:  d\n  setup code:   AAAA-B\n"), "{text}");
        assert!(text.contains(" setup --code AAAA-B --server http://127.0.0.1:7401\n"), "{text}");
        assert!(text.ends_with("  listening on  http://127.0.0.1:7401\n"), "{text}");
    }
}
