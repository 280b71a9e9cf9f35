//! `event-schemas/`: one JSON Schema for each version of each event type, and `index.json`.
//!
//! The schemas come from the registry. A frozen version keeps, under `frozen/`, the schema it was frozen with; it is
//! never written again, and what the registry says now may differ from it by optional members only.

use crate::{compat, tree::root};
use anyhow::{Context, anyhow};
use charter_events::registry::schemas;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What to do besides writing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Nothing.
    Write,
    /// Freeze every version that isn't.
    Freeze,
}

#[derive(Serialize, Deserialize)]
struct Index {
    types: BTreeMap<String, IndexEntry>,
}

#[derive(Serialize, Deserialize)]
struct IndexEntry {
    area: String,
    /// The version written today.
    current: u16,
    versions: Vec<IndexVersion>,
}

#[derive(Serialize, Deserialize)]
struct IndexVersion {
    version: u16,
    /// The schema's file.
    schema: String,
    /// A payload of this version.
    example: String,
    /// SHA-256 of the schema's file.
    sha256: String,
    /// Whether it may only gain optional members from now on.
    frozen: bool,
}

fn folder() -> PathBuf {
    root().join("event-schemas")
}

fn frozen_path(file: &str) -> PathBuf {
    folder().join("frozen").join(file)
}

fn pretty(value: &impl Serialize) -> anyhow::Result<String> {
    let sorted = sorted(serde_json::to_value(value)?);
    Ok(serde_json::to_string_pretty(&sorted)? + "\n")
}

/// With the members of every object in the order of their names, however this build's maps keep them.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<String, Value> = members.into_iter().collect();
            Value::Object(members.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// What the folder must hold: file name to text, the index last.
fn files() -> anyhow::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let mut types = BTreeMap::<String, IndexEntry>::new();
    for (name, version, schema) in schemas() {
        let file = format!("{name}.v{version}.json");
        let text = pretty(&schema)?;
        let area = name.split_once('.').map(|(area, _)| area.to_owned()).unwrap_or_default();
        let entry = types.entry(name.to_owned()).or_insert(IndexEntry {
            area,
            current: version,
            versions: Vec::new(),
        });
        entry.current = entry.current.max(version);
        entry.versions.push(IndexVersion {
            version,
            schema: file.clone(),
            example: format!("examples/{file}"),
            sha256: hex::encode(Sha256::digest(text.as_bytes())),
            frozen: frozen_path(&file).exists(),
        });
        entry.versions.sort_by_key(|v| v.version);
        files.push((file, text));
    }
    files.push(("index.json".to_owned(), pretty(&Index { types })?));
    Ok(files)
}

/// Writes the folder; what is frozen and has changed in more than it may stays as it is and is a fault.
pub(crate) fn write(task: Task) -> anyhow::Result<Vec<String>> {
    let faults = frozen_faults()?;
    if !faults.is_empty() {
        return Ok(faults);
    }
    if task == Task::Freeze {
        for (file, text) in files()?.into_iter().filter(|(file, _)| file != "index.json") {
            if !frozen_path(&file).exists() {
                put(&frozen_path(&file), &text)?;
            }
        }
    }
    let files = files()?;
    for (file, text) in &files {
        put(&folder().join(file), text)?;
    }
    for file in strays(&files)? {
        std::fs::remove_file(folder().join(&file)).with_context(|| format!("remove `{file}`"))?;
    }
    Ok(Vec::new())
}

/// A fault for each file that isn't what would be written, or shouldn't be there.
pub(crate) fn check() -> anyhow::Result<Vec<String>> {
    let files = files()?;
    let mut faults = frozen_faults()?;
    for (file, text) in &files {
        if std::fs::read_to_string(folder().join(file)).ok().as_deref() != Some(text) {
            faults.push(format!(
                "`event-schemas/{file}` is not what the registry says: run `cargo xtask schemas`"
            ));
        }
    }
    faults.extend(
        strays(&files)?.into_iter().map(|file| format!("`event-schemas/{file}` belongs to no event type")),
    );
    Ok(faults)
}

fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    let parent = path.parent().ok_or_else(|| anyhow!("`{}` has no folder", path.display()))?;
    std::fs::create_dir_all(parent)?;
    std::fs::write(path, text).with_context(|| format!("write `{}`", path.display()))
}

/// Files of the folder itself that nothing would write.
fn strays(files: &[(String, String)]) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_schema = entry.file_type()?.is_file() && name.ends_with(".json");
        if is_schema && !files.iter().any(|(file, _)| *file == name) {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

/// Frozen versions that are gone from the registry, or have changed in more than they may.
fn frozen_faults() -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder().join("frozen")) else { return Ok(faults) };
    let now: BTreeMap<String, Value> = schemas()
        .into_iter()
        .map(|(name, version, schema)| (format!("{name}.v{version}.json"), schema.to_value()))
        .collect();
    for entry in entries {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let frozen: Value = serde_json::from_slice(&std::fs::read(entry.path())?)
            .with_context(|| format!("read `event-schemas/frozen/{file}`"))?;
        match now.get(&file) {
            None => faults.push(format!("`{file}` is frozen and no longer in the registry")),
            Some(now) => {
                let breaches = compat::breaches(&frozen, now).into_iter();
                faults.extend(breaches.map(|b| format!("`{file}` is frozen: {b}; make it the next version")));
            }
        }
    }
    faults.sort();
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schemas_are_what_the_registry_says() {
        assert_eq!(check().unwrap(), Vec::<String>::new());
    }
}
