//! Signing in at the server's identity provider: this program shows a code, and somebody types it there, in a browser
//! anywhere. What comes of it is a session of the server's; of the provider's own secrets nothing gets here.

use super::signals::told_to_end;
use crate::{
    app::App,
    client::Client,
    exit::{Exit, Failure, Outcome},
};
use charter_http::dto::{DeviceAsk, DeviceStarted, SessionStarted};
use serde_json::json;
use std::time::{Duration, Instant};

/// By how much it is asked less often when it was asked too often, in seconds.
const SLOWER_SECONDS: u64 = 5;

/// What an answer means for whoever waits.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Wait,
    WaitLonger,
    GiveUp,
}

/// Shows the code and waits until somebody has typed it.
pub(super) async fn sign_in(app: &App, client: &Client) -> Outcome<SessionStarted> {
    let end = told_to_end()?;
    let begun: DeviceStarted = client.post("/session/device", &json!({})).await?.read()?;
    app.out.warn(&told(&begun));
    let waiting = app.out.progress("waiting", None);
    let signed_in = tokio::select! {
        signed_in = typed(client, &begun) => signed_in,
        () = end => Err(Failure::new(Exit::NotAuthenticated, "interrupted: nobody is signed in")),
    };
    waiting.finish();
    signed_in
}

fn told(begun: &DeviceStarted) -> String {
    let mut text = format!("Open {} and type {}.", begun.verification_uri, begun.user_code);
    if let Some(address) = &begun.verification_uri_complete {
        text.push_str(&format!("\nOr open {address}, and compare the code."));
    }
    text
}

async fn typed(client: &Client, begun: &DeviceStarted) -> Outcome<SessionStarted> {
    let began = Instant::now();
    let mut interval = begun.interval.max(1);
    while began.elapsed() < Duration::from_secs(begun.expires_in) {
        tokio::time::sleep(Duration::from_secs(interval)).await;
        let ask = DeviceAsk { handle: begun.handle.clone() };
        match client.post("/session/device/token", &ask).await {
            Ok(answer) => return answer.read(),
            Err(failure) => match next(&failure) {
                Next::Wait => {}
                Next::WaitLonger => interval = interval.saturating_add(SLOWER_SECONDS),
                Next::GiveUp => return Err(failure),
            },
        }
    }
    Err(Failure::new(Exit::NotAuthenticated, "nobody typed the code in time")
        .hint("`charter login --oidc` begins again"))
}

/// A provider or a server that is away for a moment may be back before the code expires.
fn next(failure: &Failure) -> Next {
    match (failure.status, failure.code.as_deref()) {
        (_, Some("authorization_pending")) | (Some(503), _) => Next::Wait,
        (Some(429), _) => Next::WaitLonger,
        _ => Next::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_waiting_for_what_may_still_come_and_for_nothing_else() {
        let failure = |status, code: &str| Failure {
            status: Some(status),
            code: Some(code.to_owned()),
            ..Failure::error("refused")
        };
        for (status, code, expected) in [
            (409, "authorization_pending", Next::Wait),
            (503, "oidc_unavailable", Next::Wait),
            (429, "slow_down", Next::WaitLonger),
            (429, "rate_limited", Next::WaitLonger),
            (403, "denied", Next::GiveUp),
            (403, "identity_unknown", Next::GiveUp),
            (410, "expired", Next::GiveUp),
            (404, "oidc_not_configured", Next::GiveUp),
        ] {
            assert_eq!(next(&failure(status, code)), expected, "{code}");
        }
        assert_eq!(next(&Failure::error("can't reach it")), Next::GiveUp);
    }
}
