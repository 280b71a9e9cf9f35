//! Finds the line of a place in a scenario that was read already: the text is read once more, up to that place, where
//! the reader is made to stop and says where it stands. Only done for a refusal.

use crate::{
    parse::Format,
    refused::{Problem, Refused, Step, shown},
};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::{fmt, sync::Arc};

/// Where a scenario came from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) file: String,
    pub(crate) format: Format,
    /// The text it stands in: the line for JSON Lines, else the whole file.
    pub(crate) text: Arc<str>,
    /// The line of the file that text begins at, from 1.
    pub(crate) first_line: usize,
    /// Its number in the file, from 1.
    pub(crate) number: usize,
}

impl Default for Origin {
    fn default() -> Self {
        Self { file: String::new(), format: Format::Yaml, text: Arc::from(""), first_line: 1, number: 1 }
    }
}

impl Origin {
    /// A problem of this scenario as a refusal.
    pub(crate) fn refused(&self, name: &str, problem: Problem) -> Refused {
        Refused {
            file: self.file.clone(),
            line: self.line(&problem.place),
            scenario: Some((self.number, name.to_owned())),
            place: Some(shown(&problem.place)),
            reason: problem.reason,
        }
    }

    /// The line of a place; for JSON Lines the scenario's.
    pub(crate) fn line(&self, place: &[Step]) -> Option<usize> {
        match self.format {
            Format::JsonLines => Some(self.first_line),
            Format::Json => {
                let mut reader = serde_json::Deserializer::from_str(&self.text);
                Stop(place).deserialize(&mut reader).err().map(|error| error.line())
            }
            Format::Yaml => {
                let document =
                    serde_norway::Deserializer::from_str(&self.text).nth(self.number.saturating_sub(1))?;
                Stop(place).deserialize(document).err()?.location().map(|location| location.line())
            }
        }
    }
}

struct Stop<'a>(&'a [Step]);

impl<'de> DeserializeSeed<'de> for Stop<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Stop<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the place")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((Step::Member(wanted), rest)) = self.0.split_first() else {
            return Err(de::Error::custom("here"));
        };
        while let Some(name) = map.next_key::<String>()? {
            if name == *wanted {
                map.next_value_seed(Stop(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((Step::Item(wanted), rest)) = self.0.split_first() else {
            return Err(de::Error::custom("here"));
        };
        for _ in 0..*wanted {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(Stop(rest))?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
