//! What ties a browser's way to the provider and back together (RFC 6749, 10.12; RFC 7636; OpenID Connect Core,
//! 3.1.2.1): three random values that only whoever was sent off can come back with.

use crate::secret::Secret;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// How many random bytes each value is of.
const RANDOM_BYTES: usize = 32;

/// One way to the provider and back.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Comes back with the browser.
    pub state: Secret,
    /// Comes back in the token.
    pub nonce: Secret,
    /// Shown to the provider only when the code is exchanged; before, its hash.
    pub verifier: Secret,
}

impl Flow {
    /// A new one; none when the system gives no random bytes.
    pub fn new() -> Option<Self> {
        Some(Self { state: random()?, nonce: random()?, verifier: random()? })
    }

    /// Whether a state is this one's. How long that takes tells nothing of it.
    pub fn is_state(&self, state: &str) -> bool {
        state.as_bytes().ct_eq(self.state.expose().as_bytes()).into()
    }

    /// What the provider is shown of the verifier (RFC 7636, 4.2, `S256`).
    pub(crate) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.expose()))
    }
}

fn random() -> Option<Secret> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standards_example() {
        let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        let flow = Flow { verifier, ..Flow::new().unwrap() };
        assert_eq!(flow.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn a_state_is_a_flows_own_or_it_is_not() {
        let flow = Flow::new().unwrap();
        let state = flow.state.expose().to_owned();
        assert!(flow.is_state(&state));
        for other in [
            "",
            &state[1..],
            &format!("{state}A"),
            &state.to_lowercase(),
            Flow::new().unwrap().state.expose(),
        ] {
            assert!(!flow.is_state(other), "{other}");
        }
    }

    #[test]
    fn no_two_flows_share_a_value_and_none_is_shown() {
        let (one, other) = (Flow::new().unwrap(), Flow::new().unwrap());
        let values = [&one.state, &one.nonce, &one.verifier, &other.state, &other.nonce, &other.verifier];
        for (at, value) in values.iter().enumerate() {
            assert_eq!(value.expose().len(), 43);
            assert!(values[at + 1..].iter().all(|later| later.expose() != value.expose()));
            assert!(!format!("{one:?}{other:?}").contains(value.expose()));
        }
    }
}
