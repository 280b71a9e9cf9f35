//! Invitations and forgotten passwords: links that work once.

use super::common::{Secret, UserRef};
use charter_events::{DisplayName, ExternalId, Slug, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A person to be invited: the account waits until he accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InvitationCreate {
    /// By which people name him.
    #[schema(value_type = String, pattern = "^[a-z0-9][a-z0-9_.-]{0,127}$", example = "alice")]
    pub username: Slug,
    /// Where the invitation is sent. Without it, or without mail, the answer has the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// How he is shown; the username when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub display_name: Option<DisplayName>,
    /// Another name accepted at sign-in, unique ignoring case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_name: Option<String>,
    /// His id in somebody else's system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 256)]
    pub external_id: Option<ExternalId>,
}

/// How a link gets to its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It is sent to the address on record.
    Mailed,
    /// It is in this answer, once: hand it over.
    Shown,
}

/// An invitation that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invitation {
    /// The account. Who may not read users is shown the id alone.
    pub user: UserRef,
    /// Until when the link works.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// How the link gets to him.
    pub delivery: Delivery,
    /// The link's secret, shown here and never again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<Secret>,
    /// The link, with the secret behind `#`, where the server knows its own address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub link: Option<Secret>,
}

/// How the letter with a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LetterState {
    /// The mail server took it.
    Sent,
    /// It is under way.
    Waiting,
    /// It was not sent, and is not tried any more: resend the invitation.
    Failed,
}

/// An account that waits for its person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingInvitation {
    /// The account.
    pub user: UserRef,
    /// Until when its link works; absent when none works any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, nullable = false)]
    pub expires_at: Option<Timestamp>,
    /// How the letter with the link stands; absent where the link was shown instead, and where none works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub letter: Option<LetterState>,
}

/// A link with which a user chooses another password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResetLink {
    /// Whose password. Who may not read users is shown the id alone.
    pub user: UserRef,
    /// Until when the link works.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// How the link gets to him.
    pub delivery: Delivery,
    /// The link's secret, shown here and never again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<Secret>,
    /// The link, with the secret behind `#`, where the server knows its own address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub link: Option<Secret>,
}

/// What whoever was invited says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InvitationAccept {
    /// The secret of the link: what stands behind `#`.
    pub secret: Secret,
    /// His password from now on.
    pub password: Secret,
    /// How he is shown; as the invitation said when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub display_name: Option<DisplayName>,
}

/// Whose password is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgottenRequest {
    /// Username or login name.
    #[schema(example = "ada")]
    pub username: String,
}

/// Another password instead of a forgotten one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetRequest {
    /// The secret of the link: what stands behind `#`.
    pub secret: Secret,
    /// The password from now on. All sessions end.
    pub password: Secret,
}
