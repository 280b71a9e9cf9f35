//! First run, sign-in, and what a caller may see and change of himself.

use super::common::{Secret, UserRef};
use charter_events::{DisplayName, Offset, Pattern, SessionId, Slug, Timestamp, TokenId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether an installation still waits for its first administrator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetupState {
    /// Whether `POST /setup` is open. Once there has been an administrator it never is again.
    pub needed: bool,
}

/// The first administrator.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupRequest {
    /// The code the server printed when it started.
    pub code: Secret,
    /// By which people name him.
    #[schema(value_type = String, pattern = "^[a-z0-9][a-z0-9_.-]{0,127}$", example = "ada")]
    pub username: Slug,
    /// His password.
    pub password: Secret,
    /// How he is shown; the username when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub display_name: Option<DisplayName>,
    /// Where mail reaches him.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// A name and a password.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInRequest {
    /// Username or login name.
    #[schema(example = "ada")]
    pub username: String,
    /// The password.
    pub password: Secret,
    /// Whether the session is kept by the browser, in a cookie no script can read: then the answer does not show it.
    /// The request must come from a page of this installation, with the header `X-Charter-Request`.
    #[serde(default, skip_serializing_if = "super::common::is_false")]
    pub cookie: bool,
}

/// A session that began. Its secret is shown here and never again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionStarted {
    /// Send it as `Authorization: Bearer …`. Absent where the session is in a cookie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<Secret>,
    /// The session.
    #[schema(value_type = Uuid)]
    pub session: SessionId,
    /// Whose it is.
    pub user: UserRef,
    /// When it ends by itself.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// Who is calling, and what he may do platform-wide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// The caller.
    pub user: UserRef,
    /// Where mail reaches him.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Whether he holds `*` globally; a token that is narrowed to less does not.
    pub administrator: bool,
    /// The keys he is allowed at the global scope, in byte order. For showing and hiding only: the server asks again.
    pub permissions: Vec<String>,
    /// The version this was answered at.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
    /// When this may change without a new version: one of his grants begins or ends then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_until: Option<Timestamp>,
    /// The ceiling of the token he calls with, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub mask: Option<Vec<Pattern>>,
}

/// A new password of one's own.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePasswordRequest {
    /// The password until now.
    pub current: Secret,
    /// The password from now on. All other sessions end.
    pub new: Secret,
}

/// One of the caller's sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// The session.
    #[schema(value_type = Uuid)]
    pub id: SessionId,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub began_at: Timestamp,
    /// When it ends by itself.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// When it was last used, to within minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used: Option<Timestamp>,
    /// Whether it is the one this was asked with.
    pub current: bool,
}

/// An API token to be issued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// What its owner calls it.
    #[schema(value_type = String, max_length = 128, example = "backup job")]
    pub name: DisplayName,
    /// It works until just before this moment; without end when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// A ceiling on what may be asked with it; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, example = json!(["core.decision.read"]))]
    pub mask: Option<Vec<Pattern>>,
}

/// An API token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// The token.
    #[schema(value_type = Uuid)]
    pub id: TokenId,
    /// What its owner calls it.
    pub name: String,
    /// When it was issued.
    #[schema(value_type = String, format = DateTime)]
    pub issued_at: Timestamp,
    /// It works until just before this moment; without end when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// A ceiling on what may be asked with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub mask: Option<Vec<Pattern>>,
    /// When it was last used, to within minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used: Option<Timestamp>,
}

/// An API token that was issued. The secret is shown here and never again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TokenIssued {
    /// Send it as `Authorization: Bearer …`.
    pub secret: Secret,
    /// The token.
    pub token: Token,
}
