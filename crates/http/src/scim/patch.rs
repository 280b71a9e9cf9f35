//! Patches (RFC 7644, 3.5.2): the operations of a message, in order, each with the attribute it is about. What becomes
//! of an attribute is the resource's to say; all of them lead to one change.

use super::{
    fault::{Fault, fault},
    filter::{Filter, Kind, Parser},
    members::{self, Members},
    wish::{self, Do, EXTENSIONS},
};
use crate::problem::Problem;
use serde_json::Value;

/// The schema of a patch.
const SCHEMA: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
/// The most operations of one patch.
const OPERATIONS_MAX: usize = 1_000;

/// One thing to be done.
#[derive(Debug)]
pub(super) struct Operation {
    /// The attribute, in lower case.
    pub(super) name: String,
    /// Which of its values.
    pub(super) filter: Option<Filter>,
    /// Which part of them, in lower case.
    pub(super) part: Option<String>,
    pub(super) what: Do,
}

/// The operations of a message; those about extensions of the schema, which nothing is kept of, are left out.
///
/// # Errors
/// `invalidSyntax`, `invalidPath`, `invalidValue`, `noTarget`.
pub(super) fn operations(kind: Kind, mut message: Members) -> Result<Vec<Operation>, Problem> {
    members::require_schema(&mut message, SCHEMA)?;
    let sent = match message.take("operations") {
        Some(Value::Array(sent)) if !sent.is_empty() && sent.len() <= OPERATIONS_MAX => sent,
        _ => {
            let detail = format!("`Operations` takes a list of 1 to {OPERATIONS_MAX}");
            return Err(fault(Fault::Syntax, detail));
        }
    };
    if let Some((name, _)) = message.rest().first() {
        return Err(fault(Fault::Syntax, format!("`{}` is not known", members::shown(name))));
    }
    let mut operations = Vec::with_capacity(sent.len());
    for one in sent {
        let Value::Object(one) = one else { return Err(fault(Fault::Syntax, "an operation is an object")) };
        read(kind, Members::new(one)?, &mut operations)?;
    }
    Ok(operations)
}

fn read(kind: Kind, mut one: Members, into: &mut Vec<Operation>) -> Result<(), Problem> {
    let op = one.take("op").map(|value| members::text("op", value)).transpose()?.flatten();
    let path = one.take("path").map(|value| members::text("path", value)).transpose()?.flatten();
    let value = one.take("value");
    if let Some((name, _)) = one.rest().first() {
        return Err(fault(Fault::Syntax, format!("`{}` is not known", members::shown(name))));
    }
    let op = op.unwrap_or_default().to_ascii_lowercase();
    let what: fn(Value) -> Do = match op.as_str() {
        "add" => Do::Add,
        "replace" => Do::Replace,
        "remove" => {
            let path = path.ok_or_else(|| fault(Fault::NoTarget, "`remove` takes a `path`"))?;
            // Some providers name in `value` what is to be removed of a list.
            let what = value.filter(|value| !value.is_null()).map_or(Do::Remove, Do::RemoveThese);
            return about(kind, &path, what, into);
        }
        _ => return Err(fault(Fault::Syntax, "`op` is `add`, `remove` or `replace`")),
    };
    let value = value.ok_or_else(|| fault(Fault::Value, format!("`{op}` takes a `value`")))?;
    match path {
        Some(path) => about(kind, &path, what(value), into),
        None => each(kind, value, what, into),
    }
}

/// Without a path the value's members are the attributes.
fn each(kind: Kind, value: Value, what: fn(Value) -> Do, into: &mut Vec<Operation>) -> Result<(), Problem> {
    let Value::Object(value) = value else {
        return Err(fault(Fault::Value, "without a `path` the value is an object"));
    };
    for (path, value) in value {
        about(kind, &path, what(value), into)?;
    }
    Ok(())
}

fn about(kind: Kind, path: &str, what: Do, into: &mut Vec<Operation>) -> Result<(), Problem> {
    let mut parser = Parser::of_path(kind, path)?;
    let word = parser.word().to_ascii_lowercase();
    let name = match word.strip_prefix(kind.schema_lowercase()) {
        // The schema alone: what is in the value are its attributes.
        Some("") => {
            parser.end()?;
            return match what {
                Do::Add(value) => each(kind, value, Do::Add, into),
                Do::Replace(value) => each(kind, value, Do::Replace, into),
                Do::Remove | Do::RemoveThese(_) => Err(fault(Fault::NoTarget, "a schema is not removed")),
            };
        }
        Some(rest) => rest.strip_prefix(':').unwrap_or_default(),
        None if word.starts_with(EXTENSIONS) => return Ok(()),
        None => &word,
    };
    let (name, mut part) = match name.split_once('.') {
        Some((name, part)) => (name, Some(part.to_owned())),
        None => (name, None),
    };
    let list = match name {
        "emails" => Some("emails"),
        "members" => Some("members"),
        _ => None,
    };
    let mut filter = None;
    if part.is_none() && parser.takes('[') {
        let unknown =
            || fault(Fault::Path, format!("`{}` has no values to choose from", members::shown(name)));
        match list {
            Some(list) => filter = Some(parser.bracketed(list)?),
            // Of what is not kept nothing is chosen either.
            None if wish::NOT_KEPT.contains(&name) => return Ok(()),
            None => return Err(unknown()),
        }
        if parser.takes('.') {
            part = Some(parser.word().to_ascii_lowercase());
        }
    }
    parser.end()?;
    if name.is_empty() || part.as_deref() == Some("") {
        return Err(fault(Fault::Path, "the path names no attribute"));
    }
    into.push(Operation { name: name.to_owned(), filter, part, what });
    Ok(())
}
