//! Programs from elsewhere that the tests use.

use anyhow::ensure;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A Python that has them: `CHARTER_TEST_PYTHON`, else the one `make` put into this checkout.
fn python() -> PathBuf {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python3");
    std::env::var_os("CHARTER_TEST_PYTHON").map_or_else(ours, PathBuf::from)
}

fn found(program: PathBuf) -> anyhow::Result<PathBuf> {
    ensure!(
        program.is_file(),
        "`{}` is missing: install it with `make need-checks`, or name a Python that has it in CHARTER_TEST_PYTHON",
        program.display()
    );
    Ok(program)
}

/// The program that makes requests up from an API's document, which lies beside its Python.
///
/// # Errors
/// When it is not there; with how it is installed.
pub fn schemathesis() -> anyhow::Result<Command> {
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/schemathesis.toml");
    let mut command = Command::new(found(python().with_file_name("schemathesis"))?);
    command.arg("--config-file").arg(settings);
    Ok(command)
}

/// The script that has a SCIM client of somebody else's check a server's routes.
///
/// # Errors
/// When there is no Python; with how it is installed.
pub fn scim_check() -> anyhow::Result<Command> {
    let mut command = Command::new(found(python())?);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/scim_check.py"));
    Ok(command)
}
