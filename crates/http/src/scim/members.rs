//! Members of a message, whose names are in any case (RFC 7643, 2.1), and their values read as what they have to be.

use super::fault::{Fault, fault};
use crate::problem::Problem;
use serde_json::{Map, Value};

/// The members of an object, by their names in lower case.
pub(super) struct Members(Vec<(String, Value)>);

impl Members {
    /// # Errors
    /// `invalidSyntax` when one is there twice.
    pub(super) fn new(of: Map<String, Value>) -> Result<Self, Problem> {
        let mut members: Vec<(String, Value)> = Vec::with_capacity(of.len());
        for (name, value) in of {
            let lower = name.to_ascii_lowercase();
            if members.iter().any(|(known, _)| *known == lower) {
                return Err(fault(Fault::Syntax, format!("`{}` is there twice", shown(&name))));
            }
            members.push((lower, value));
        }
        Ok(Self(members))
    }

    /// Takes a member out.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// What is left.
    pub(super) fn rest(self) -> Vec<(String, Value)> {
        self.0
    }
}

/// A name from outside, as it may be repeated in an answer.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(64).flat_map(char::escape_debug).collect()
}

/// Requires a message to say that it is of this schema.
pub(super) fn require_schema(members: &mut Members, schema: &str) -> Result<(), Problem> {
    let named = members.take("schemas");
    let of = |value: &Value| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(schema));
    match &named {
        Some(Value::Array(all)) if all.iter().any(of) => Ok(()),
        _ => Err(fault(Fault::Syntax, format!("`schemas` has to name `{schema}`"))),
    }
}

/// A text; none when it is null.
pub(super) fn text(name: &str, value: Value) -> Result<Option<String>, Problem> {
    match value {
        Value::String(text) => Ok(Some(text)),
        Value::Null => Ok(None),
        _ => Err(fault(Fault::Value, format!("`{name}` takes a text"))),
    }
}

/// True or false. Some providers send it as a text.
pub(super) fn truth(name: &str, value: &Value) -> Result<bool, Problem> {
    match value {
        Value::Bool(value) => Ok(*value),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(fault(Fault::Value, format!("`{name}` takes `true` or `false`"))),
    }
}

/// An object.
pub(super) fn object(name: &str, value: Value) -> Result<Members, Problem> {
    match value {
        Value::Object(members) => Members::new(members),
        _ => Err(fault(Fault::Value, format!("`{name}` takes an object"))),
    }
}

/// The values of a list; one that is sent alone is a list of one, and null is none.
pub(super) fn several(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        Value::Null => Vec::new(),
        one => vec![one],
    }
}

/// Reads a text as what it is kept as.
pub(super) fn read<T: std::str::FromStr>(name: &str, text: Option<&str>) -> Result<Option<T>, Problem>
where
    T::Err: std::fmt::Display,
{
    let read = |text: &str| text.parse().map_err(|why| fault(Fault::Value, format!("`{name}`: {why}")));
    text.map(read).transpose()
}
