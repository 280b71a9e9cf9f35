//! Filters (RFC 7644, 3.4.2.2): read from their text into a small tree. Owns the grammar and its bounds; which values
//! a resource has is somebody else's (`facts`).
//!
//! Bounded: so many bytes, so many terms, so deep. An attribute that is not on the list is refused, never passed over:
//! a filter that says less than it seems to would name more than was asked for.

use super::fault::{Fault, fault};
use crate::problem::Problem;
use charter_events::Timestamp;

/// The longest filter, in bytes.
pub(super) const FILTER_BYTES_MAX: usize = 4_096;
/// The most comparisons in one filter.
const TERMS_MAX: usize = 32;
/// How deep parentheses nest.
const DEPTH_LEVELS_MAX: usize = 16;

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Group,
}

/// An attribute that can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Id,
    ExternalId,
    UserName,
    DisplayName,
    Active,
    Email,
    EmailType,
    EmailPrimary,
    Groups,
    GroupsDisplay,
    Members,
    MembersType,
    ResourceType,
    Created,
}

/// A list of which one element has to fit a whole filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    Emails,
    Groups,
    Members,
}

/// What a field's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Compared exactly.
    Exact,
    /// Compared in any case.
    Folded,
    Bool,
    Time,
}

impl Field {
    pub(super) const fn shape(self) -> Shape {
        match self {
            Self::Id | Self::ExternalId | Self::Groups | Self::Members => Shape::Exact,
            Self::UserName
            | Self::DisplayName
            | Self::Email
            | Self::EmailType
            | Self::GroupsDisplay
            | Self::MembersType
            | Self::ResourceType => Shape::Folded,
            Self::Active | Self::EmailPrimary => Shape::Bool,
            Self::Created => Shape::Time,
        }
    }

    /// Whether it is sealed, so that names have to be opened to answer.
    pub(super) const fn is_sealed(self) -> bool {
        matches!(
            self,
            Self::UserName
                | Self::DisplayName
                | Self::ExternalId
                | Self::Email
                | Self::EmailType
                | Self::EmailPrimary
        )
    }

    /// The field a path names, ignoring case; a schema before it must be the resource's own.
    pub(super) fn named(kind: Kind, path: &str) -> Option<Self> {
        let path = path.to_ascii_lowercase();
        let path = match path.strip_prefix(kind.schema_lowercase()) {
            Some(rest) => rest.strip_prefix(':')?,
            None => &path,
        };
        let both = match path {
            "id" => Some(Self::Id),
            "externalid" => Some(Self::ExternalId),
            "displayname" => Some(Self::DisplayName),
            "meta.resourcetype" => Some(Self::ResourceType),
            _ => None,
        };
        both.or(match (kind, path) {
            (Kind::User, "username") => Some(Self::UserName),
            (Kind::User, "active") => Some(Self::Active),
            (Kind::User, "emails" | "emails.value") => Some(Self::Email),
            (Kind::User, "emails.type") => Some(Self::EmailType),
            (Kind::User, "emails.primary") => Some(Self::EmailPrimary),
            (Kind::User, "groups" | "groups.value") => Some(Self::Groups),
            (Kind::User, "groups.display") => Some(Self::GroupsDisplay),
            (Kind::User, "meta.created") => Some(Self::Created),
            (Kind::Group, "members" | "members.value") => Some(Self::Members),
            (Kind::Group, "members.type") => Some(Self::MembersType),
            _ => None,
        })
    }
}

impl Kind {
    pub(super) const fn schema_lowercase(self) -> &'static str {
        match self {
            Self::User => "urn:ietf:params:scim:schemas:core:2.0:user",
            Self::Group => "urn:ietf:params:scim:schemas:core:2.0:group",
        }
    }
}

impl Elements {
    fn named(kind: Kind, path: &str) -> Option<(Self, &'static str)> {
        match Field::named(kind, path)? {
            Field::Email => Some((Self::Emails, "emails")),
            Field::Groups => Some((Self::Groups, "groups")),
            Field::Members => Some((Self::Members, "members")),
            _ => None,
        }
    }
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Eq,
    Ne,
    Co,
    Sw,
    Ew,
    Gt,
    Ge,
    Lt,
    Le,
}

/// What it is compared with; text that is compared in any case is in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Text(String),
    Bool(bool),
    Time(Timestamp),
    Nothing,
}

/// A filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filter {
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
    Not(Box<Filter>),
    Present(Field),
    Compare(Field, Op, Wanted),
    /// One and the same element fits.
    Has(Elements, Box<Filter>),
}

impl Filter {
    /// Reads a filter about one kind of resource.
    ///
    /// # Errors
    /// `invalidFilter`, saying where.
    pub(super) fn parse(kind: Kind, text: &str) -> Result<Self, Problem> {
        let mut parser = Parser::new(kind, text)?;
        let filter = parser.or(0)?;
        parser.end()?;
        Ok(filter)
    }

    /// The value of a field that everything the filter finds must have, if it says one: found without a search.
    pub(super) fn key(&self) -> Option<(Field, &str)> {
        match self {
            Self::Compare(
                field @ (Field::Id | Field::UserName | Field::ExternalId),
                Op::Eq,
                Wanted::Text(text),
            ) => Some((*field, text)),
            Self::And(one, other) => one.key().or_else(|| other.key()),
            _ => None,
        }
    }

    /// Whether names have to be opened to answer it.
    pub(super) fn needs_names(&self) -> bool {
        match self {
            Self::And(one, other) | Self::Or(one, other) => one.needs_names() || other.needs_names(),
            Self::Not(of) => of.needs_names(),
            Self::Present(field) | Self::Compare(field, ..) => field.is_sealed(),
            Self::Has(elements, _) => *elements == Elements::Emails,
        }
    }
}

/// Reads a filter, and the paths of patches, which may have one in them.
pub(super) struct Parser<'a> {
    kind: Kind,
    text: &'a str,
    rest: &'a str,
    terms: usize,
    /// Within brackets: the list its names are of.
    within: Option<&'static str>,
    fault: Fault,
}

impl<'a> Parser<'a> {
    pub(super) fn new(kind: Kind, text: &'a str) -> Result<Self, Problem> {
        if text.len() > FILTER_BYTES_MAX {
            return Err(fault(Fault::Filter, format!("a filter has at most {FILTER_BYTES_MAX} bytes")));
        }
        Ok(Self { kind, text, rest: text, terms: 0, within: None, fault: Fault::Filter })
    }

    /// The same for the path of a patch.
    pub(super) fn of_path(kind: Kind, text: &'a str) -> Result<Self, Problem> {
        Ok(Self { fault: Fault::Path, ..Self::new(kind, text).map_err(|_| fault(Fault::Path, "too long"))? })
    }

    fn wrong(&self, what: &str) -> Problem {
        let at = self.text.len().saturating_sub(self.rest.len());
        fault(self.fault, format!("at byte {at}: {what}"))
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    /// Takes a sign, if it is next.
    pub(super) fn takes(&mut self, sign: char) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Nothing is left.
    pub(super) fn end(&mut self) -> Result<(), Problem> {
        self.skip();
        if self.rest.is_empty() { Ok(()) } else { Err(self.wrong("nothing more is expected")) }
    }

    /// The next word: an attribute's path, an operator, or a word such as `and`. Empty when there is none.
    pub(super) fn word(&mut self) -> &'a str {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '_' | '$');
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        word
    }

    fn peeks(&self, word: &str) -> bool {
        let mut ahead = Self { rest: self.rest, ..*self };
        ahead.word().eq_ignore_ascii_case(word)
    }

    fn or(&mut self, depth: usize) -> Result<Filter, Problem> {
        let mut left = self.and(depth)?;
        loop {
            self.skip();
            if !self.peeks("or") {
                return Ok(left);
            }
            self.word();
            left = Filter::Or(Box::new(left), Box::new(self.and(depth)?));
        }
    }

    fn and(&mut self, depth: usize) -> Result<Filter, Problem> {
        let mut left = self.one(depth)?;
        loop {
            self.skip();
            if !self.peeks("and") {
                return Ok(left);
            }
            self.word();
            left = Filter::And(Box::new(left), Box::new(self.one(depth)?));
        }
    }

    fn one(&mut self, depth: usize) -> Result<Filter, Problem> {
        if depth >= DEPTH_LEVELS_MAX {
            return Err(self.wrong("it nests too deep"));
        }
        self.skip();
        if self.takes('(') {
            return self.closed(depth, ')');
        }
        if self.peeks("not") {
            self.word();
            self.skip();
            if !self.takes('(') {
                return Err(self.wrong("`not` is followed by `(`"));
            }
            return Ok(Filter::Not(Box::new(self.closed(depth, ')')?)));
        }
        self.term()
    }

    /// A filter up to the sign that closes it.
    fn closed(&mut self, depth: usize, sign: char) -> Result<Filter, Problem> {
        let filter = self.or(depth.saturating_add(1))?;
        self.skip();
        if self.takes(sign) { Ok(filter) } else { Err(self.wrong(&format!("`{sign}` is missing"))) }
    }

    /// What stands in brackets after a list's name.
    pub(super) fn bracketed(&mut self, list: &'static str) -> Result<Filter, Problem> {
        if self.within.is_some() {
            return Err(self.wrong("brackets do not nest"));
        }
        self.within = Some(list);
        let filter = self.closed(1, ']');
        self.within = None;
        filter
    }

    fn term(&mut self) -> Result<Filter, Problem> {
        self.terms = self.terms.saturating_add(1);
        if self.terms > TERMS_MAX {
            return Err(self.wrong(&format!("more than {TERMS_MAX} comparisons")));
        }
        let path = self.word();
        if path.is_empty() {
            return Err(self.wrong("an attribute is expected"));
        }
        if self.takes('[') {
            let (elements, list) =
                Elements::named(self.kind, path).ok_or_else(|| self.wrong("no such list of values"))?;
            return Ok(Filter::Has(elements, Box::new(self.bracketed(list)?)));
        }
        let full = self.within.map(|list| format!("{list}.{path}"));
        let field = Field::named(self.kind, full.as_deref().unwrap_or(path));
        let field = field.ok_or_else(|| self.wrong("no such attribute to ask about"))?;
        self.skip();
        let op = match self.word().to_ascii_lowercase().as_str() {
            "pr" => return Ok(Filter::Present(field)),
            "eq" => Op::Eq,
            "ne" => Op::Ne,
            "co" => Op::Co,
            "sw" => Op::Sw,
            "ew" => Op::Ew,
            "gt" => Op::Gt,
            "ge" => Op::Ge,
            "lt" => Op::Lt,
            "le" => Op::Le,
            _ => return Err(self.wrong("an operator is expected")),
        };
        self.skip();
        let wanted = self.wanted(field, op)?;
        Ok(Filter::Compare(field, op, wanted))
    }

    fn wanted(&mut self, field: Field, op: Op) -> Result<Wanted, Problem> {
        if self.rest.starts_with('"') {
            let text = self.quoted()?;
            return match field.shape() {
                Shape::Exact => Ok(Wanted::Text(text)),
                Shape::Folded => Ok(Wanted::Text(text.to_lowercase())),
                Shape::Time if !matches!(op, Op::Co | Op::Sw | Op::Ew) => match text.parse() {
                    Ok(time) => Ok(Wanted::Time(time)),
                    Err(_) => Err(self.wrong("a time such as `2026-01-31T12:00:00Z` is expected")),
                },
                Shape::Time => Err(self.wrong("times are not compared so")),
                Shape::Bool => Err(self.wrong("`true` or `false` is expected")),
            };
        }
        let equals = matches!(op, Op::Eq | Op::Ne);
        match (self.word().to_ascii_lowercase().as_str(), field.shape()) {
            ("true", Shape::Bool) if equals => Ok(Wanted::Bool(true)),
            ("false", Shape::Bool) if equals => Ok(Wanted::Bool(false)),
            ("null", _) if equals => Ok(Wanted::Nothing),
            _ => Err(self.wrong("no such value for this attribute and operator")),
        }
    }

    /// A text in quotes, written as JSON writes it.
    fn quoted(&mut self) -> Result<String, Problem> {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else { return Err(self.wrong("the text does not end")) };
        let (quoted, rest) = self.rest.split_at_checked(end.saturating_add(1)).unwrap_or((self.rest, ""));
        let text = serde_json::from_str(quoted).map_err(|_| self.wrong("the text is not written as JSON"))?;
        self.rest = rest;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// How many comparisons a filter makes of one value, and how deep it nests.
    fn measured(filter: &Filter) -> (usize, usize) {
        match filter {
            Filter::And(one, other) | Filter::Or(one, other) => {
                let (one, other) = (measured(one), measured(other));
                (one.0 + other.0, one.1.max(other.1) + 1)
            }
            Filter::Not(of) | Filter::Has(_, of) => (measured(of).0, measured(of).1 + 1),
            Filter::Present(_) | Filter::Compare(..) => (1, 1),
        }
    }

    /// What a filter of a size is read as; at 1, 2, 4 … up to beyond what fits.
    fn at_each_size(of: impl Fn(usize) -> String) -> Vec<(usize, Option<(usize, usize)>)> {
        let sizes = std::iter::successors(Some(1_usize), |size| Some(size * 2));
        sizes
            .take_while(|size| *size <= 2 * FILTER_BYTES_MAX)
            .map(|size| (size, Filter::parse(Kind::User, &of(size)).ok().as_ref().map(measured)))
            .collect()
    }

    #[test]
    fn what_a_filter_is_read_as_is_bounded_at_every_size() {
        let joined = |word: &'static str| move |size: usize| vec!["id pr"; size].join(&format!(" {word} "));
        type Shape = (&'static str, Box<dyn Fn(usize) -> String>);
        let shapes: [Shape; 5] = [
            ("or", Box::new(joined("or"))),
            ("and", Box::new(joined("and"))),
            ("not", Box::new(|size| format!("{}id pr{}", "not (".repeat(size), ")".repeat(size)))),
            ("nested", Box::new(|size| format!("{}id pr{}", "(".repeat(size), ")".repeat(size)))),
            ("branching", Box::new(|size| format!("{}id pr{}", "(id pr or ".repeat(size), ")".repeat(size)))),
        ];
        for (name, of) in shapes {
            let found = at_each_size(of);
            assert!(found[0].1.is_some() && found.last().unwrap().1.is_none(), "{name}");
            for (size, measured) in found {
                let Some((terms, depth)) = measured else { continue };
                assert!(terms <= TERMS_MAX && depth <= TERMS_MAX + DEPTH_LEVELS_MAX, "{name} of {size}");
            }
        }
    }

    #[test]
    fn a_text_that_never_becomes_a_filter_is_given_up_at_every_size() {
        let began = Instant::now();
        for beginning in
            ["", "id eq \"", "id eq ", "emails[", "emails[emails[", "not (", "id pr ", "id pr and "]
        {
            for unit in
                ["a", "(", ")", "[", "\"", "\\", "\\\"", " ", ".", ":", "and ", "not ", "not(", "\u{e9}"]
            {
                let found = at_each_size(|size| format!("{beginning}{}", unit.repeat(size)));
                assert_eq!(found.last().unwrap().1, None, "{beginning}{unit}");
            }
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn the_path_of_a_patch_has_the_same_bounds() {
        let began = Instant::now();
        for unit in ["a", "emails[", "emails[type eq ", ".", "]", "\"", "("] {
            for size in std::iter::successors(Some(1_usize), |size| Some(size * 2)).take(14) {
                let path = format!("emails[{}", unit.repeat(size));
                let read = Parser::of_path(Kind::User, &path).and_then(|mut parser| {
                    parser.word();
                    parser.takes('[');
                    parser.bracketed("emails")
                });
                assert!(read.is_err(), "{unit} {size} times");
            }
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
