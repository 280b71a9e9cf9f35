//! `crates/http/openapi.json`: the API's document, generated from the routes and committed, so that a change of the API
//! is seen as one.

use anyhow::Context;
use serde_json::Value;
use std::path::PathBuf;

fn path() -> PathBuf {
    crate::tree::root().join("crates/http/openapi.json")
}

fn generated() -> anyhow::Result<String> {
    let text = charter_http::openapi().to_pretty_json().context("write the API's document")?;
    Ok(text + "\n")
}

/// Writes the document.
pub(crate) fn write() -> anyhow::Result<Vec<String>> {
    std::fs::write(path(), generated()?).context("write `crates/http/openapi.json`")?;
    Ok(Vec::new())
}

/// A fault when the committed document isn't what would be written.
pub(crate) fn check() -> anyhow::Result<Vec<String>> {
    // compared as values: the order of an object's members is not part of it
    let generated: Value = serde_json::from_str(&generated()?)?;
    let committed = std::fs::read_to_string(path()).ok();
    let committed: Option<Value> = committed.and_then(|text| serde_json::from_str(&text).ok());
    let fault = "`crates/http/openapi.json` is not what the routes say: run `cargo xtask openapi`";
    Ok(if committed == Some(generated) { Vec::new() } else { vec![fault.to_owned()] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_document_is_what_the_routes_say() {
        assert_eq!(check().unwrap(), Vec::<String>::new());
    }
}
