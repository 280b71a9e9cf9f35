//! Members of a message, whose names are in any case (RFC 7643, 2.1), and their values read as what they have to be.

use super::fault::{Fault, fault};
use crate::problem::Problem;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The members of an object, by their names in lower case. As many as a body has room for: none is looked for by going
/// through all of them.
pub(super) struct Members(BTreeMap<String, Value>);

impl Members {
    /// # Errors
    /// `invalidSyntax` when one is there twice.
    pub(super) fn new(of: Map<String, Value>) -> Result<Self, Problem> {
        let mut members = BTreeMap::new();
        for (name, value) in of {
            if members.insert(name.to_ascii_lowercase(), value).is_some() {
                return Err(fault(Fault::Syntax, format!("`{}` is there twice", shown(&name))));
            }
        }
        Ok(Self(members))
    }

    /// Takes a member out.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// What is left.
    pub(super) fn rest(self) -> Vec<(String, Value)> {
        self.0.into_iter().collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::BODY_BYTES_MAX;
    use std::time::{Duration, Instant};

    #[test]
    fn a_name_is_found_in_any_case_and_stands_once_in_any_case() {
        let of = |text: &str| Members::new(serde_json::from_str(text).unwrap());
        let mut members = of(r#"{"userName": 1, "Active": 2}"#).unwrap();
        assert_eq!((members.take("username"), members.take("userName")), (Some(Value::from(1)), None));
        assert_eq!(members.rest(), [("active".to_owned(), Value::from(2))]);
        assert!(of(r#"{"userName": 1, "USERNAME": 2}"#).is_err());
    }

    #[test]
    fn a_message_full_of_members_costs_no_more_than_going_through_them() {
        // As many as the largest body has room for.
        let count = BODY_BYTES_MAX / "\"12345\":0,".len();
        let all: Map<String, Value> =
            (0..count).map(|number| (format!("{number:x}"), Value::from(0))).collect();
        let began = Instant::now();
        let mut members = Members::new(all).unwrap();
        assert!((0..count).all(|number| members.take(&format!("{number:x}")).is_some()));
        assert!(members.rest().is_empty());
        // Were each compared with all before it, that were five billion comparisons.
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
