//! Which attributes an answer shows: `attributes` and `excludedAttributes` (RFC 7644, 3.9).

use super::fault::{Fault, fault};
use crate::problem::Problem;
use serde_json::{Map, Value};

/// The longest list of attributes, in bytes, and the most in it.
const LIST_BYTES_MAX: usize = 4_096;
const LIST_MAX: usize = 64;
/// Always shown.
const ALWAYS: [&str; 2] = ["id", "schemas"];

/// What is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    only: Option<Vec<String>>,
    without: Vec<String>,
}

impl Shown {
    /// # Errors
    /// `invalidValue` when both are named, or one is too long.
    pub(super) fn new(only: Option<&str>, without: Option<&str>) -> Result<Self, Problem> {
        match (only, without) {
            (Some(_), Some(_)) => {
                let detail = "`attributes` and `excludedAttributes` exclude each other";
                Err(fault(Fault::Value, detail))
            }
            (Some(only), None) => Ok(Self { only: Some(names(only)?), without: Vec::new() }),
            (None, without) => Ok(Self { only: None, without: names(without.unwrap_or_default())? }),
        }
    }

    /// Whether anything of an attribute is shown.
    pub(super) fn shows(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        match &self.only {
            None => !self.without.contains(&name),
            Some(only) => only.iter().any(|path| attribute_of(path) == name),
        }
    }

    /// A resource as it is shown.
    pub(super) fn of(&self, resource: Value) -> Value {
        let Value::Object(members) = resource else { return resource };
        let shown = members.into_iter().filter_map(|(name, value)| {
            if ALWAYS.contains(&name.as_str()) {
                return Some((name, value));
            }
            let value = self.value(&name.to_ascii_lowercase(), value)?;
            Some((name, value))
        });
        Value::Object(shown.collect())
    }

    fn value(&self, name: &str, value: Value) -> Option<Value> {
        let sub = |paths: &[String]| -> Vec<String> {
            let of = |path: &String| path.strip_prefix(name)?.strip_prefix('.').map(str::to_owned);
            paths.iter().filter_map(of).collect()
        };
        match &self.only {
            None if self.without.iter().any(|path| path == name) => None,
            None => Some(parts(value, &|part| !sub(&self.without).contains(part))),
            Some(only) if only.iter().any(|path| path == name) => Some(value),
            Some(only) => {
                let wanted = sub(only);
                (!wanted.is_empty()).then(|| parts(value, &|part| wanted.contains(part)))
            }
        }
    }
}

/// Those members of an object, or of each in a list, that are kept.
fn parts(value: Value, keeps: &dyn Fn(&String) -> bool) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, _)| keeps(&name.to_ascii_lowercase()));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(|value| parts(value, keeps)).collect()),
        other => other,
    }
}

fn attribute_of(path: &str) -> &str {
    path.split_once('.').map_or(path, |(attribute, _)| attribute)
}

/// The names of a list, in lower case and without the schema before them.
fn names(list: &str) -> Result<Vec<String>, Problem> {
    let named: Vec<String> = list
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let name = name.to_ascii_lowercase();
            // The version in a schema's name has a dot: the attribute begins after the last colon.
            name.rsplit_once(':').map_or(name.clone(), |(_, attribute)| attribute.to_owned())
        })
        .collect();
    if list.len() > LIST_BYTES_MAX || named.len() > LIST_MAX {
        return Err(fault(Fault::Value, format!("at most {LIST_MAX} attributes are named")));
    }
    Ok(named)
}
