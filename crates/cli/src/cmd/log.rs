//! `charter log`: which log a server has, and what to keep elsewhere so that a change of it is found out.

use crate::{
    app::App,
    exit::{Exit, Outcome},
};
use charter_http::dto::LogInfo;
use serde_json::json;

/// What to ask of the log.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Which log it is, where it ends, and the key its checkpoints are signed with
    Show,
    /// Print the newest signed checkpoint: kept elsewhere, it shows later whether the log was cut or rewritten
    Checkpoint,
    /// Print a proof that an event is in the log, which anyone with the log's key can check
    Prove {
        /// The event's offset
        offset: u64,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Show => {
            let answer = client.get("/log", &[]).await?;
            let log: LogInfo = answer.read()?;
            app.out.answer(&answer.body, || {
                let LogInfo { log_id, head, head_hash, recorded_at, verifier_key, .. } = &log;
                format!(
                    "log {log_id}\nhead {head}  hash {head_hash}\nrecorded {recorded_at}\nkey {verifier_key}"
                )
            })?;
        }
        Verb::Checkpoint => {
            let note = client.text("/log/checkpoint", &[]).await?;
            app.out.answer(&json!({"checkpoint": note}), || note.clone())?;
        }
        Verb::Prove { offset } => {
            let proof = client.text("/log/proof", &[("offset", offset.to_string())]).await?;
            app.out.answer(&json!({"offset": offset, "proof": proof}), || proof.clone())?;
        }
    }
    Ok(Exit::Done)
}
