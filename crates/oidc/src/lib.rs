//! Sign-in by an OpenID provider, as its relying party: which provider, where it is, who it says that somebody is.
//!
//! Layer 2, stands on nothing. Owns the protocol (OpenID Connect Core and Discovery, RFC 7636, RFC 8628, RFC 9207) with
//! one provider: every answer of it is bounded, and believed only as far as it is signed or came from the provider
//! itself. Must not know accounts, sessions, routes or the time: the moment is handed in.
//!
//! What comes of it is a [`Subject`], and nothing else of what a provider says about people: names and addresses are
//! never read, so that nobody can be found by them.

mod discovery;
mod error;
mod fetch;
mod flow;
mod issuer;
mod keys;
mod party;
mod provider;
mod secret;
mod token;
mod words;

pub use error::{Fault, OidcError, TokenFault};
pub use flow::Flow;
pub use issuer::{InvalidIssuer, Issuer};
pub use party::{Client, CodeAnswer, Device, Poll, RelyingParty, Subject};
pub use secret::Secret;
