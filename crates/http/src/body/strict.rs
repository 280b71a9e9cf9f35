//! Strict JSON: no key twice at any level, no array where an object belongs, no number that loses a digit, and every
//! fault with the path of the member it is at.

use crate::problem::Problem;
use serde::{
    Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{MapDeserializer, SeqDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Map, Number, Value};
use std::{cell::RefCell, fmt};

/// How deep a body may nest, in levels.
const DEPTH_LEVELS_MAX: usize = 32;
/// At most so many characters of a refused key are shown.
const SHOWN_CHARS_MAX: usize = 64;

/// Reads a body.
///
/// # Errors
/// 400 when it is no JSON, nests too deep or names a key twice; 422 with the field when it doesn't fit `T`.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    fit(tree(bytes)?)
}

/// Reads a part of a body that was read as a tree.
///
/// # Errors
/// 422 with the field when it doesn't fit `T`.
pub(crate) fn fit<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(Strict(value)).map_err(|error| {
        let path = error.path().to_string();
        let fault = error.into_inner();
        let at = join(&path, fault.member.as_deref());
        Problem::invalid_member(fault.code, &shown(&at), fault.message)
    })
}

fn join(path: &str, member: Option<&str>) -> String {
    let path = if path == "." { "" } else { path };
    match member {
        None => path.to_owned(),
        Some(member) if path == member || path.ends_with(&format!(".{member}")) => path.to_owned(),
        Some(member) if path.is_empty() => member.to_owned(),
        Some(member) => format!("{path}.{member}"),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(4 * SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect()
}

/// The body as a tree in which no object has a key twice.
fn tree(bytes: &[u8]) -> Result<Value, Problem> {
    let fault = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let unique = Unique { fault: &fault, depth: 0 };
    let value = unique.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| match fault.into_inner() {
        Some(TreeFault::Twice(key)) => Problem::duplicate_member(&shown(&key)),
        Some(TreeFault::TooDeep) => {
            Problem::malformed(format!("the body nests deeper than {DEPTH_LEVELS_MAX} levels"))
        }
        None => Problem::malformed(format!(
            "the body is no JSON at line {}, column {}",
            error.line(),
            error.column()
        )),
    })
}

enum TreeFault {
    Twice(String),
    TooDeep,
}

#[derive(Clone, Copy)]
struct Unique<'a> {
    fault: &'a RefCell<Option<TreeFault>>,
    depth: usize,
}

impl Unique<'_> {
    fn below<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= DEPTH_LEVELS_MAX {
            *self.fault.borrow_mut() = Some(TreeFault::TooDeep);
            return Err(E::custom("too deep"));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        #[cfg(test)]
        tests::worked();
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(below)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(below)?;
            if object.contains_key(&key) {
                *self.fault.borrow_mut() = Some(TreeFault::Twice(key));
                return Err(de::Error::custom("a key twice"));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// What is wrong with one member.
#[derive(Debug)]
struct Fault {
    code: &'static str,
    message: String,
    member: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { code: "invalid_value", message: message.to_string(), member: None }
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let found = match found {
            de::Unexpected::Str(_) => "text".to_owned(),
            other => other.to_string(),
        };
        Self { code: "invalid_type", message: format!("expected {expected}, found {found}"), member: None }
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("expected one of `{}`", expected.join("`, `"));
        Self { code: "invalid_value", message, member: None }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = if expected.is_empty() {
            "no member is expected".to_owned()
        } else {
            format!("members are `{}`", expected.join("`, `"))
        };
        Self { code: "unknown_member", message, member: Some(field.to_owned()) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self { code: "missing_member", message: "it is missing".to_owned(), member: Some(field.to_owned()) }
    }
}

/// Hands a tree to derived code, without the leniency of taking an array for an object.
struct Strict(Value);

impl<'de> IntoDeserializer<'de, Fault> for Strict {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Strict {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        #[cfg(test)]
        tests::worked();
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(de::Error::custom("a number out of range")),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Strict))),
            Value::Object(members) => visitor.visit_map(MapDeserializer::new(
                members.into_iter().map(|(key, value)| (key, Strict(value))),
            )),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Array(_) => Err(de::Error::invalid_type(de::Unexpected::Seq, &"an object")),
            Value::Object(_) => self.deserialize_any(visitor),
            _ => Err(de::Error::invalid_type(unexpected(&self.0), &"an object")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.0 {
            Value::String(text) => visitor.visit_enum(StrDeserializer::new(text)),
            other => Err(de::Error::invalid_type(unexpected(other), &"text")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

fn unexpected(value: &Value) -> de::Unexpected<'_> {
    match value {
        Value::Null => de::Unexpected::Unit,
        Value::Bool(value) => de::Unexpected::Bool(*value),
        Value::Number(_) => de::Unexpected::Other("number"),
        Value::String(text) => de::Unexpected::Str(text),
        Value::Array(_) => de::Unexpected::Seq,
        Value::Object(_) => de::Unexpected::Map,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use charter_events::PermissionKey;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Thing {
        name: String,
        #[serde(default)]
        count: Option<u16>,
        #[serde(default)]
        below: Vec<Thing>,
        #[serde(default)]
        keys: BTreeMap<String, PermissionKey>,
    }

    fn refused(body: &str) -> (u16, String, Option<String>) {
        let problem = parse::<Thing>(body.as_bytes()).unwrap_err();
        (problem.status().as_u16(), problem.code().to_owned(), problem.field().map(str::to_owned))
    }

    #[test]
    fn what_is_well_formed_and_fits_is_read_exactly() {
        let thing: Thing =
            parse(br#"{"name":"a\u00e9","count":65535,"below":[{"name":"b"}],"keys":{"x":"a.b.c"}}"#)
                .unwrap();
        assert_eq!((thing.name.as_str(), thing.count, thing.below.len()), ("a\u{e9}", Some(65535), 1));
    }

    #[test]
    fn malformed_bodies_are_400() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let bom = "\u{feff}{\"name\":\"a\"}";
        for body in [
            "",
            "{",
            "nul",
            "{\"name\":\"a\"}x",
            "{\"name\":\"\\ud800\"}",
            "{\"name\":NaN}",
            "{'name':1}",
            bom,
            &deep,
        ] {
            let (status, code, _) = refused(body);
            assert_eq!((status, code.as_str()), (400, "malformed"), "{}", &body[..body.len().min(40)]);
        }
        for body in [
            r#"{"name":"a","name":"b"}"#,
            r#"{"name":"a","below":[{"name":"a","name":"a"}]}"#,
            r#"{"name":"a","keys":{"x":"a.b.c","x":"a.b.d"}}"#,
            r#"{"name":"a","\u006eame":"b"}"#,
        ] {
            assert_eq!(refused(body).1, "duplicate_member", "{body}");
        }
    }

    #[test]
    fn what_does_not_fit_is_422_and_names_the_member() {
        for (body, code, field) in [
            ("[]", "invalid_type", ""),
            (r#"["a",1]"#, "invalid_type", ""),
            ("\"a\"", "invalid_type", ""),
            ("{}", "missing_member", "name"),
            (r#"{"name":1}"#, "invalid_type", "name"),
            (r#"{"name":"a","nome":1}"#, "unknown_member", "nome"),
            (r#"{"name":"a","below":[["b"]]}"#, "invalid_type", "below[0]"),
            (r#"{"name":"a","below":[{}]}"#, "missing_member", "below[0].name"),
            (r#"{"name":"a","keys":{"x":"A.b.c"}}"#, "invalid_value", "keys.x"),
            (r#"{"name":"a","count":"1"}"#, "invalid_type", "count"),
            (r#"{"name":"a","count":1.0}"#, "invalid_type", "count"),
            (r#"{"name":"a","count":1e2}"#, "invalid_type", "count"),
            (r#"{"name":"a","count":-0}"#, "invalid_type", "count"),
            (r#"{"name":"a","count":65536}"#, "invalid_value", "count"),
            (r#"{"name":"a","count":18446744073709551616}"#, "invalid_type", "count"),
        ] {
            let (status, found, at) = refused(body);
            assert_eq!(
                (status, found.as_str(), at.as_deref().unwrap_or_default()),
                (422, code, field),
                "{body}"
            );
        }
    }

    /// Bodies of a shape, each twice as large as the one before, up to the largest that is read.
    fn doubled(of: impl Fn(usize) -> String) -> Vec<String> {
        let sizes = std::iter::successors(Some(1_usize), |size| Some(size * 2));
        sizes.map(of).take_while(|body| body.len() <= crate::body::BODY_BYTES_MAX).collect()
    }

    thread_local! {
        /// How many values were looked at, in either pass.
        static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    pub(super) fn worked() {
        WORK.set(WORK.get() + 1);
    }

    #[test]
    fn each_value_of_a_body_is_looked_at_once_in_each_pass_whatever_its_shape_and_size() {
        let list = |item: &'static str| move |size: usize| format!("[{}]", vec![item; size].join(","));
        let members = |size: usize| {
            let all: Vec<String> = (0..size).map(|number| format!("\"{number:x}\":0")).collect();
            format!("{{{}}}", all.join(","))
        };
        // What a shape is made of, and how many values a body of a size has.
        type Shape = (&'static str, Box<dyn Fn(usize) -> String>, fn(usize) -> usize);
        let good: [Shape; 6] = [
            ("numbers", Box::new(list("1")), |size| size + 1),
            ("objects", Box::new(list("{\"a\":{\"b\":1}}")), |size| 3 * size + 1),
            ("members", Box::new(members), |size| size + 1),
            ("escapes", Box::new(|size| format!("\"{}\"", "\\u0041".repeat(size))), |_| 1),
            ("one name", Box::new(|size| format!("{{\"{}\":0}}", "a".repeat(size))), |_| 2),
            ("one number", Box::new(|size| format!("0.{}", "1".repeat(size))), |_| 1),
        ];
        for (name, of, values) in good {
            for (power, body) in doubled(of).into_iter().enumerate() {
                WORK.set(0);
                parse::<Value>(body.as_bytes()).unwrap();
                assert_eq!(WORK.get(), 2 * values(1 << power), "{name}: {} bytes", body.len());
            }
        }
        let twice = move |size: usize| members(size).replace('}', ",\"0\":1}");
        let broken = move |size: usize| list("1")(size).replace(']', "");
        for body in doubled(twice).into_iter().chain(doubled(broken)) {
            WORK.set(0);
            assert!(parse::<Value>(body.as_bytes()).is_err());
            assert!(WORK.get() <= body.len(), "what is given up is not looked at again");
        }
    }

    #[test]
    fn how_deep_a_body_nests_is_bounded_before_it_is_read_whole() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            for body in doubled(|size| format!("{}0{}", open.repeat(size), close.repeat(size))) {
                let levels = body.matches(open).count();
                assert_eq!(parse::<Value>(body.as_bytes()).is_ok(), levels <= DEPTH_LEVELS_MAX, "{levels}");
            }
        }
    }
}
