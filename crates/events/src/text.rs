//! What the newtypes over text share: they are read and written as their text, and reading checks it.

use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt::Display, str::FromStr};

/// Deserialises a value from its text, with the value's own error.
pub(crate) fn from_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: Display,
    D: Deserializer<'de>,
{
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    text.parse().map_err(de::Error::custom)
}

/// `Serialize` as the display text, `Deserialize` by `FromStr`.
macro_rules! as_text {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::from_text(deserializer)
            }
        }
    };
}

/// The JSON Schema of a newtype over text: a string with a format and a pattern.
macro_rules! string_schema {
    ($name:ty, $format:expr, $pattern:expr) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = schemars::json_schema!({"type": "string", "pattern": $pattern});
                if !$format.is_empty() {
                    schema.insert("format".into(), serde_json::Value::from($format));
                }
                schema
            }
        }
    };
}

pub(crate) use {as_text, string_schema};
