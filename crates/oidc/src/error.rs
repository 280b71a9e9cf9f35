//! What can go wrong with a provider. No error repeats a token, a code, or a word of the provider's.

/// Why nobody was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// The provider can't be reached, or what it answers is not what a provider answers. It may be tried again.
    #[error("the identity provider is not there: {0}")]
    Away(#[source] Fault),
    /// More is being asked of the provider than may be at once.
    #[error("too much is being asked of the identity provider at once")]
    Busy,
    /// The provider does not know this client, its secret, or what it asked for: for whoever runs the server.
    #[error("the identity provider refuses this client: {0}")]
    Misconfigured(&'static str),
    /// The code, or what came with it, is not one of the provider's for this flow, or was used before.
    #[error("the identity provider does not stand by what came back")]
    Refused,
    /// Whoever was asked said no.
    #[error("the sign-in was declined at the identity provider")]
    Declined,
    /// The provider answered, but what it says of somebody can't be believed.
    #[error("the identity provider's word can't be taken: {0}")]
    Token(#[source] TokenFault),
    /// The provider has no device flow.
    #[error("the identity provider does not offer sign-in by code")]
    NoDeviceFlow,
    /// The system gave no random bytes.
    #[error("there is no randomness")]
    NoRandomness,
}

/// What was wrong with an answer of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It can't be reached.
    #[error("it can't be reached")]
    Unreachable,
    /// It took too long.
    #[error("it took too long")]
    TimedOut,
    /// A status that is no answer; redirects are not followed.
    #[error("it answered with status {0}")]
    Status(u16),
    /// More than is read.
    #[error("its answer is too large")]
    TooLarge,
    /// Not the document that was asked for.
    #[error("its {0} can't be read")]
    Unreadable(&'static str),
    /// Its description is of another issuer.
    #[error("its description names another issuer")]
    OtherIssuer,
    /// An address in it that is not taken.
    #[error("its {0} is no address that is taken: `https`, or this machine where the issuer is")]
    Address(&'static str),
    /// It has no way for clients to authenticate that is known here.
    #[error("it takes neither `client_secret_basic` nor `client_secret_post`")]
    NoClientAuthentication,
    /// It was tried a moment ago.
    #[error("it was not there a moment ago")]
    NotLongAgo,
}

/// Why an ID token is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is none, or says something twice or in another form.
    #[error("it can't be read")]
    Malformed,
    /// It is signed in a way that is not taken, or not at all.
    #[error("it is signed in a way that is not taken")]
    Algorithm,
    /// It names no key of the provider's, or could be of several.
    #[error("its key is not one of the provider's")]
    UnknownKey,
    /// Its signature is not that of its key.
    #[error("its signature is wrong")]
    Signature,
    /// It is from somebody else.
    #[error("it is from another issuer")]
    Issuer,
    /// It is for somebody else.
    #[error("it is for another client")]
    Audience,
    /// It is not good any more.
    #[error("it has expired")]
    Expired,
    /// It is not good yet.
    #[error("it is from the future")]
    NotYet,
    /// It was not made for this flow.
    #[error("it is of another sign-in")]
    Nonce,
    /// It names nobody.
    #[error("it names nobody")]
    Subject,
}

impl From<Fault> for OidcError {
    fn from(fault: Fault) -> Self {
        Self::Away(fault)
    }
}

impl From<TokenFault> for OidcError {
    fn from(fault: TokenFault) -> Self {
        Self::Token(fault)
    }
}
