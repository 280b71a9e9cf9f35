//! `charter catalog`: what a module declares, as one document.

use super::common::document;
use crate::{
    app::App,
    client::{Client, route},
    exit::{Exit, Failure, Outcome},
};
use charter_http::dto::{CatalogApplied, CatalogDocument};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What to do with catalogs.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Register one namespace's permissions and object types, whole: what the file leaves out becomes deprecated
    Apply {
        /// A YAML or JSON file that names its `namespace`; `-` reads stdin
        file: PathBuf,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let Verb::Apply { file } = verb;
    let document = parse(&file, &document(&file)?)?;
    let (applied, body) = apply(&app.client()?, &document).await?;
    app.out.answer(&body, || {
        let (keys, types) = (document.permissions.len(), document.object_types.len());
        format!("Namespace {} stands: {keys} permissions, {types} object types.", applied.namespace)
    })?;
    Ok(Exit::Done)
}

/// Reads a document; YAML, of which JSON is a part.
pub(super) fn parse(file: &Path, bytes: &[u8]) -> Outcome<CatalogDocument> {
    let document: CatalogDocument = serde_norway::from_slice(bytes)
        .map_err(|error| Failure::usage(format!("`{}` is no catalog: {error}", file.display())))?;
    if document.namespace.is_none() {
        return Err(Failure::usage(format!("`{}` names no `namespace`", file.display())));
    }
    Ok(document)
}

/// Registers it.
pub(super) async fn apply(client: &Client, document: &CatalogDocument) -> Outcome<(CatalogApplied, Value)> {
    let namespace = document.namespace.as_ref().map_or("", |n| n.as_str());
    let answer = client.put(&route(&["catalog", namespace])?, document).await?;
    Ok((answer.read()?, answer.body))
}
