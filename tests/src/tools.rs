//! Programs from elsewhere that the tests use.

use anyhow::ensure;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The program that makes requests up from an API's document: `CHARTER_SCHEMATHESIS`, else the one `make` put into this
/// checkout.
///
/// # Errors
/// When it is not there; with how it is installed.
pub fn schemathesis() -> anyhow::Result<Command> {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/schemathesis");
    let program = std::env::var_os("CHARTER_SCHEMATHESIS").map_or_else(ours, PathBuf::from);
    ensure!(
        program.is_file(),
        "schemathesis is missing: install it with `make need-nats`, or set CHARTER_SCHEMATHESIS"
    );
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/schemathesis.toml");
    let mut command = Command::new(program);
    command.arg("--config-file").arg(settings);
    Ok(command)
}
