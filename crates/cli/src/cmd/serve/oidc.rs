//! The identity provider people sign in at, as the command line names it. Nobody is asked anything at the start: a
//! provider that is away keeps no server from starting.

use super::listening::refuse_other_readers;
use crate::{
    app::path_or_empty,
    exit::{Doing, Failure, Outcome, chain},
};
use charter_http::{CALLBACK_PATH, IdentityProvider, PublicUrl};
use charter_oidc::{Client, Issuer, RelyingParty, Secret};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The longest file with a secret, in bytes.
const SECRET_BYTES_MAX: u64 = 4_096;
/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Which provider, and as whom this installation is known there.
#[derive(Debug, clap::Args)]
pub(super) struct OidcArgs {
    /// Let people sign in at this OpenID provider: its issuer, letter by letter as it says it, such as
    /// https://login.example.org; takes `--oidc-client-id` and `--public-url`
    #[arg(long, env = "CHARTER_OIDC_ISSUER", value_name = "URL")]
    oidc_issuer: Option<String>,
    /// What this installation is called there
    #[arg(long, env = "CHARTER_OIDC_CLIENT_ID", value_name = "TEXT")]
    oidc_client_id: Option<String>,
    /// A file with its secret there, which its owner alone may read; without, it has none
    #[arg(long, env = "CHARTER_OIDC_CLIENT_SECRET_FILE", value_name = "FILE", value_parser = path_or_empty())]
    oidc_client_secret_file: Option<PathBuf>,
    /// What people are shown the provider is called; its host when left out
    #[arg(long, env = "CHARTER_OIDC_NAME", value_name = "TEXT")]
    oidc_name: Option<String>,
    /// What is asked of it, separated by spaces or commas; `openid` is always among it, and nothing else is needed
    #[arg(long, env = "CHARTER_OIDC_SCOPES", value_name = "SCOPES", default_value = "openid")]
    oidc_scopes: String,
    /// What a directory that speaks SCIM calls its people by (`externalId`) is what the identity provider calls them:
    /// whoever such a directory gives one is linked to that identity, where it may reset his password
    #[arg(long, env = "CHARTER_OIDC_SCIM_EXTERNAL_ID")]
    oidc_scim_external_id: bool,
}

impl OidcArgs {
    /// Refuses half of what it takes, before anything is opened.
    pub(super) fn check(&self, public_url: Option<&PublicUrl>) -> Outcome<()> {
        self.provider(public_url).map(drop)
    }

    /// The issuer as accounts are linked to it, if there is one.
    pub(super) fn issuer(&self) -> Outcome<Option<charter_events::Issuer>> {
        let Some(text) = given(self.oidc_issuer.as_deref()) else { return Ok(None) };
        text.parse().map(Some).map_err(|error| not_an_issuer(text, &error))
    }

    /// Whether a directory's ids are the provider's subjects.
    pub(super) const fn links_by_scim(&self) -> bool {
        self.oidc_scim_external_id
    }

    /// The provider, if there is one.
    pub(super) fn provider(&self, public_url: Option<&PublicUrl>) -> Outcome<Option<IdentityProvider>> {
        let Some(text) = given(self.oidc_issuer.as_deref()) else {
            return self.refuse_rest_without_issuer().map(|()| None);
        };
        let issuer: Issuer = text.parse().map_err(|error| not_an_issuer(text, &error))?;
        self.issuer()?;
        let id = given(self.oidc_client_id.as_deref()).ok_or_else(|| {
            Failure::usage(
                "the identity provider knows this installation by an id: `--oidc-client-id` is missing",
            )
        })?;
        let url = public_url.ok_or_else(|| {
            Failure::usage(
                "whoever signed in at the identity provider has to come back: `--public-url` is missing",
            )
            .hint("`--public-url https://charter.example.org`")
        })?;
        let client = Client {
            id: id.to_owned(),
            secret: self.secret()?,
            scopes: scopes(&self.oidc_scopes)?,
            redirect: format!("{}{CALLBACK_PATH}", url.as_str()),
        };
        let name = self.name(&issuer)?;
        let party = RelyingParty::new(issuer, client)
            .map_err(|error| Failure::error(format!("can't sign in at a provider: {}", chain(&error))))?;
        Ok(Some(IdentityProvider { name, party: Arc::new(party) }))
    }

    /// What is set for a provider that is not named would be passed over.
    fn refuse_rest_without_issuer(&self) -> Outcome<()> {
        let secret = self.oidc_client_secret_file.as_ref().and_then(|path| path.to_str());
        let set = [
            ("--oidc-client-id", given(self.oidc_client_id.as_deref()).is_some()),
            ("--oidc-client-secret-file", given(secret).is_some()),
            ("--oidc-name", given(self.oidc_name.as_deref()).is_some()),
            ("--oidc-scim-external-id", self.oidc_scim_external_id),
        ];
        match set.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(()),
            Some((flag, _)) => {
                Err(Failure::usage(format!("`{flag}` is for a provider: `--oidc-issuer` is missing")))
            }
        }
    }

    fn secret(&self) -> Outcome<Option<Secret>> {
        let path = self.oidc_client_secret_file.as_deref().filter(|path| !path.as_os_str().is_empty());
        path.map(secret_in).transpose()
    }

    fn name(&self, issuer: &Issuer) -> Outcome<String> {
        let host = || reqwest::Url::parse(issuer.as_str()).ok()?.host_str().map(str::to_owned);
        let name = given(self.oidc_name.as_deref()).map(str::to_owned).or_else(host).unwrap_or_default();
        if name.chars().count() > NAME_CHARS_MAX || name.chars().any(char::is_control) {
            return Err(Failure::usage(format!("`--oidc-name` takes at most {NAME_CHARS_MAX} characters")));
        }
        Ok(name)
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn not_an_issuer(text: &str, why: &dyn std::error::Error) -> Failure {
    Failure::usage(format!("`{text}` is no issuer: {why}"))
        .hint("the provider says it in `/.well-known/openid-configuration`, as `issuer`")
}

/// The secret in a file, without the line break at its end.
fn secret_in(path: &Path) -> Outcome<Secret> {
    refuse_other_readers(path, "a secret")?;
    let what = format!("read `{}`", path.display());
    let mut text = String::new();
    let read =
        File::open(path).doing(&what)?.take(SECRET_BYTES_MAX + 1).read_to_string(&mut text).doing(&what)?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() || read as u64 > SECRET_BYTES_MAX || secret.chars().any(char::is_control) {
        let wrong = format!("`{}` holds no secret: one line of at most 4,096 bytes", path.display());
        return Err(Failure::usage(wrong));
    }
    Ok(Secret::new(secret))
}

/// Scopes as they are asked for: each is a word (RFC 6749, 3.3), and `openid` comes first.
fn scopes(text: &str) -> Outcome<String> {
    let mut scopes = vec!["openid"];
    for scope in text.split([' ', ',']).filter(|scope| !scope.is_empty()) {
        let fits = scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
        if !fits || scopes.len() > 20 {
            return Err(Failure::usage(format!(
                "`--oidc-scopes` takes words such as `openid`, not `{text}`"
            )));
        }
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Ok(scopes.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(issuer: &str, client: &str) -> OidcArgs {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        OidcArgs {
            oidc_issuer: Some(issuer.to_owned()),
            oidc_client_id: Some(client.to_owned()),
            oidc_client_secret_file: None,
            oidc_name: None,
            oidc_scopes: "openid".to_owned(),
            oidc_scim_external_id: false,
        }
    }

    fn public() -> PublicUrl {
        "https://charter.example".parse().unwrap()
    }

    fn refused(args: &OidcArgs, public_url: Option<&PublicUrl>) -> String {
        args.provider(public_url).err().map(|failure| failure.message).unwrap_or_default()
    }

    #[test]
    fn a_provider_takes_an_issuer_an_id_and_the_installations_address() {
        let public = public();
        let provider =
            args("https://login.example/main", "charter").provider(Some(&public)).unwrap().unwrap();
        assert_eq!((provider.name.as_str(), provider.party.client_id()), ("login.example", "charter"));
        assert!(refused(&args("http://login.example", "charter"), Some(&public)).contains("is no issuer"));
        assert!(refused(&args("https://login.example", " "), Some(&public)).contains("--oidc-client-id"));
        assert!(refused(&args("https://login.example", "charter"), None).contains("--public-url"));
        assert!(args("", "").provider(None).unwrap().is_none(), "what is empty is not given");
        assert!(refused(&args("", "charter"), None).contains("--oidc-issuer"));
        let named = OidcArgs { oidc_name: Some("Example".to_owned()), ..args("https://login.example", "c") };
        assert_eq!(named.provider(Some(&public)).unwrap().unwrap().name, "Example");
    }

    #[test]
    fn openid_is_always_asked_for_and_each_scope_once() {
        for (text, asked) in
            [("openid", "openid"), ("", "openid"), ("profile,openid groups profile", "openid profile groups")]
        {
            assert_eq!(scopes(text).unwrap(), asked);
        }
        assert!(scopes("open\"id").is_err() && scopes("a\u{7f}").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn the_secret_is_one_line_in_a_file_of_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for (text, mode, taken) in [
            ("hunter2\n", 0o600, Some("hunter2")),
            ("hunter2", 0o400, Some("hunter2")),
            ("hunter2\n", 0o644, None),
            ("hunter2\n", 0o622, None),
            ("\n", 0o600, None),
            ("hunter2\nhunter3\n", 0o600, None),
        ] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = secret_in(&path);
            assert_eq!(read.as_ref().ok().map(Secret::expose), taken, "{text:?} {mode:o}");
            assert!(read.err().is_none_or(|failure| !failure.message.contains("hunter2")));
            std::fs::remove_file(&path).unwrap();
        }
        let missing = OidcArgs { oidc_client_secret_file: Some(path), ..args("https://login.example", "c") };
        assert!(refused(&missing, Some(&public())).contains("secret"));
    }
}
