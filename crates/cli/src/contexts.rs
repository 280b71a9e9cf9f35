//! The context file: which server, and as whom. Holds session secrets, so it is readable by its owner alone.
//! Knows paths and TOML; nothing of HTTP.

use crate::exit::{Doing, Exit, Failure, Outcome};
use charter_http::dto::Secret;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// Where a server listens unless told otherwise.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:7400";
/// The context used when none is named.
pub(crate) const DEFAULT_CONTEXT: &str = "default";

/// One server and who is signed in there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    /// The server's address.
    pub(crate) server: String,
    /// Who signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) username: Option<String>,
    /// The session's or token's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<Secret>,
    /// When the session ends, as the server said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
}

/// The whole file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contexts {
    /// The context in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    /// All contexts by name.
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

impl Contexts {
    /// Reads the file; nothing at all when there is none.
    pub(crate) fn load(path: &Path) -> Outcome<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).doing(format_args!("read `{}`", path.display())),
        };
        toml::from_str(&text).map_err(|error| {
            Failure::error(format!("`{}` is not a context file: {}", path.display(), error.message()))
                .hint("delete it and run `charter login` again")
        })
    }

    /// Writes the file, whole or not at all, readable by its owner alone.
    pub(crate) fn save(&self, path: &Path) -> Outcome<()> {
        let what = format!("write `{}`", path.display());
        let text = toml::to_string(self).doing(&what)?;
        let directory = path.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(directory).doing(&what)?;
        let staged = path.with_extension(format!("{}.new", std::process::id()));
        let written = private_file(&staged)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&staged, path));
        if written.is_err() {
            drop(fs::remove_file(&staged));
        }
        written.doing(&what)
    }

    /// The name of the context in use.
    pub(crate) fn current_name(&self) -> &str {
        self.current.as_deref().unwrap_or(DEFAULT_CONTEXT)
    }

    /// The context of this name.
    pub(crate) fn named(&self, name: &str) -> Outcome<&Context> {
        self.contexts.get(name).ok_or_else(|| {
            Failure::new(Exit::Error, format!("there is no context `{name}`"))
                .hint("`charter context ls` lists them")
        })
    }
}

#[cfg(unix)]
fn private_file(path: &Path) -> std::io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> std::io::Result<fs::File> {
    fs::File::create(path)
}

/// The context file: `CHARTER_CONFIG`, else `charter/contexts.toml` in the user's configuration folder.
pub(crate) fn path() -> Outcome<PathBuf> {
    if let Some(path) = set("CHARTER_CONFIG") {
        return Ok(path);
    }
    let base = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    base.map(|base| base.join("charter").join("contexts.toml")).ok_or_else(|| {
        Failure::error("there is no folder for the context file").hint("set `CHARTER_CONFIG`, or `HOME`")
    })
}

/// The data folder of a server: `charter` in the user's data folder.
pub(crate) fn data_folder() -> Outcome<PathBuf> {
    let base = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local").join("share")));
    base.map(|base| base.join("charter")).ok_or_else(|| {
        Failure::error("there is no folder to keep data in")
            .hint("name one with `--data`, or set `CHARTER_DATA`")
    })
}

fn set(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_again_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("contexts.toml");
        let mut contexts = Contexts::default();
        let context = Context {
            server: DEFAULT_SERVER.to_owned(),
            username: Some("ada".to_owned()),
            secret: Some(Secret::new("chs_x")),
            expires_at: None,
        };
        contexts.contexts.insert("default".to_owned(), context);
        contexts.save(&path).unwrap();
        let read = Contexts::load(&path).unwrap();
        assert_eq!(read.named("default").unwrap().secret.as_ref().unwrap().expose(), "chs_x");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_missing_file_is_no_contexts_and_a_broken_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contexts.toml");
        assert!(Contexts::load(&path).unwrap().contexts.is_empty());
        fs::write(&path, "current = 3").unwrap();
        assert!(Contexts::load(&path).unwrap_err().message.contains("is not a context file"));
    }
}
