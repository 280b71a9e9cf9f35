//! What the letters say. Plain text: what people wrote stands on lines of its own and is never markup.

use crate::{identity::Link, secret::SecretText};
use charter_events::{DisplayName, Profile, Timestamp};

/// A letter's subject and text.
type Written = (String, SecretText);

fn of(installation: Option<&DisplayName>) -> &str {
    installation.map_or("Charter", DisplayName::as_str)
}

fn greeting(names: Option<&Profile>) -> String {
    let shown = names.and_then(|names| names.display_name.as_ref()).map(DisplayName::as_str);
    shown
        .or_else(|| names.map(|names| names.username.as_str()))
        .map_or_else(|| "Hello,".to_owned(), |name| format!("Hello {name},"))
}

/// How the link is taken: in a browser, or with the command line, which asks for what stands behind `#`.
fn taken(link: &Link, server: Option<&str>, verb: &str) -> String {
    let shown = link.url.as_ref().unwrap_or(&link.secret).expose();
    let at = server.map(|url| format!(" --server {url}")).unwrap_or_default();
    format!("    {shown}\n\nOr on the command line, which asks for it:\n\n    charter {verb}{at}\n")
}

/// To somebody who was invited.
pub(crate) fn invitation(
    installation: Option<&DisplayName>,
    server: Option<&str>,
    link: &Link,
    names: Option<&Profile>,
    expires_at: Timestamp,
) -> Written {
    let name = of(installation);
    let username = names.map(|names| format!("\nYour username is {}.\n", names.username)).unwrap_or_default();
    let text = format!(
        "{}\n\nyou are invited to {name}. Choose a password with this link:\n\n{}{username}\n\
         The link works once, until {expires_at}. If you did not expect it, do nothing.\n",
        greeting(names),
        taken(link, server, "invitation accept"),
    );
    (format!("Invitation to {name}"), SecretText::new(text))
}

/// To somebody who has forgotten his password.
pub(crate) fn reset(
    installation: Option<&DisplayName>,
    server: Option<&str>,
    link: &Link,
    names: Option<&Profile>,
    expires_at: Timestamp,
) -> Written {
    let name = of(installation);
    let text = format!(
        "{}\n\nsomebody asked for a new password for your account at {name}. If it was you, choose one with this \
         link:\n\n{}\nThe link works once, until {expires_at}, and all your sessions end with it. If it was not you, \
         do nothing: your password stays.\n",
        greeting(names),
        taken(link, server, "reset-password"),
    );
    (format!("Your password at {name}"), SecretText::new(text))
}

/// To somebody for whom another has a new password chosen.
pub(crate) fn reset_link(
    installation: Option<&DisplayName>,
    server: Option<&str>,
    link: &Link,
    names: Option<&Profile>,
    expires_at: Timestamp,
) -> Written {
    let name = of(installation);
    let text = format!(
        "{}\n\nwhoever looks after your account at {name} asks you to choose a password with this link:\n\n{}\n\
         The link works once, until {expires_at}. Your sessions have ended; sign in with the new password.\n",
        greeting(names),
        taken(link, server, "reset-password"),
    );
    (format!("Choose a password at {name}"), SecretText::new(text))
}

/// To an administrator who has forgotten his: no letter gives him another.
pub(crate) fn no_reset(installation: Option<&DisplayName>) -> Written {
    let name = of(installation);
    let text = format!(
        "Hello,\n\nsomebody asked for a new password for your account at {name}. Administrators' passwords are not \
         replaced by mail: another administrator resets yours, or, on the host, `charter recover-admin`.\n\nIf it was \
         not you, do nothing: your password stays.\n"
    );
    (format!("Your password at {name}"), SecretText::new(text))
}
