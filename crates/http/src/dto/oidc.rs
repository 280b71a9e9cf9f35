//! Sign-in by an identity provider.

use super::common::Secret;
use charter_events::DisplayName;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How people sign in here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInWays {
    /// Whether by a name and a password.
    pub password: bool,
    /// The identity provider, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub oidc: Option<SignInProvider>,
}

/// An identity provider people sign in at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInProvider {
    /// What it is called.
    #[schema(example = "Example")]
    pub name: String,
}

/// An invitation to be accepted by signing in at the identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InvitationByProvider {
    /// The secret of the link: what stands behind `#`.
    pub secret: Secret,
    /// How he is shown; as the invitation said when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub display_name: Option<DisplayName>,
    /// Where the browser goes in the end: a path of this installation; `/` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 512)]
    pub return_to: Option<String>,
}

/// Where a browser is to go now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoThere {
    /// An address of the identity provider.
    pub location: String,
}

/// A sign-in that waits for somebody to type a code at the identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceStarted {
    /// What to ask with whether he has.
    pub handle: Secret,
    /// What he types.
    #[schema(example = "WDJB-MJHT")]
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// The same with the code in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub verification_uri_complete: Option<String>,
    /// For how long, in seconds.
    pub expires_in: u64,
    /// How long to wait before asking and between, in seconds.
    pub interval: u64,
}

/// Whether somebody has typed the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceAsk {
    /// The handle.
    pub handle: Secret,
}
