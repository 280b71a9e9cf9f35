//! `charter version`.

use crate::{
    app::App,
    exit::{Exit, Outcome},
};
use serde_json::json;

/// Prints this build's version.
pub(crate) fn run(app: &App) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let value = json!({"version": version, "target": std::env::consts::ARCH, "os": std::env::consts::OS});
    app.out.answer(&value, || format!("charter {version}"))?;
    Ok(Exit::Done)
}
