//! The doors of sign-in by an identity provider: what is kept between leaving for it and coming back. Owns the sealed
//! values a browser or a client carries meanwhile; the protocol is `charter_oidc`'s, who may come in is the use case's.
//!
//! Nothing is kept on a server that another one would need: whoever comes back may come to any of them.

mod memory;
mod return_to;
mod sealed;

pub(crate) use memory::{Full, Memory, Turn};
pub(crate) use return_to::ReturnTo;
pub(crate) use sealed::{Carried, DeviceFlow, Invited};

use crate::{App, problem::Problem};
use charter_events::{Identity, Timestamp};
use charter_oidc::{RelyingParty, Subject};
use sealed::Sealer;
use std::sync::Arc;

/// Where browsers come back to, below the installation's public address.
pub const CALLBACK_PATH: &str = "/api/v1/session/oidc/callback";

/// Where strangers have the provider asked something, each time they come. Questions about a device are paced by what
/// the provider wants.
pub(crate) const ASK_PROVIDER: [&str; 2] = [CALLBACK_PATH, "/api/v1/session/device"];

/// The identity provider people may sign in at.
#[derive(Clone)]
pub struct IdentityProvider {
    /// What people are shown it is called.
    pub name: String,
    /// The protocol with it.
    pub party: Arc<RelyingParty>,
}

/// The door to it.
pub(crate) struct Door {
    pub(crate) name: String,
    pub(crate) party: Arc<RelyingParty>,
    pub(crate) sealer: Sealer,
    /// Flows that came back here, and how often device flows are asked about here.
    pub(crate) memory: Memory,
}

impl Door {
    pub(crate) fn new(provider: &IdentityProvider, key: &[u8; 32]) -> Self {
        let IdentityProvider { name, party } = provider.clone();
        let sealer = Sealer::new(key, party.issuer().as_str(), party.client_id());
        Self { name, party, sealer, memory: Memory::default() }
    }
}

impl App {
    /// The door to the identity provider.
    ///
    /// # Errors
    /// 404 where there is none.
    pub(crate) fn door(&self) -> Result<&Door, Problem> {
        self.door.as_deref().ok_or_else(Problem::oidc_not_configured)
    }
}

/// A moment as the protocol has it.
pub(crate) const fn seconds(now: Timestamp) -> i64 {
    now.as_micros().div_euclid(1_000_000)
}

/// Whom the provider recognised, as accounts are linked to it.
///
/// # Errors
/// 403 for one that no account can be linked to.
pub(crate) fn identity(subject: &Subject) -> Result<Identity, Problem> {
    let read =
        || Some(Identity { issuer: subject.issuer.parse().ok()?, subject: subject.subject.parse().ok()? });
    read().ok_or_else(Problem::identity_unknown)
}
