//! Query parameters: decoded once, each at most once, only those the route's row in the access table names.

use crate::problem::Problem;
use charter_control::{INVITATION_PREFIX, RESET_PREFIX, SESSION_PREFIX, TOKEN_PREFIX};
use percent_encoding::percent_decode_str;
use std::{fmt::Display, str::FromStr};

/// The most parameters a query may have.
const PARAMETERS_MAX: usize = 16;
/// Names under which secrets would be sent in a query.
const SECRET_NAMES: [&str; 6] = ["token", "access_token", "password", "secret", "api_key", "authorization"];
/// What the values of secrets begin with.
const SECRET_PREFIXES: [&str; 4] = [SESSION_PREFIX, TOKEN_PREFIX, INVITATION_PREFIX, RESET_PREFIX];

/// Among those a route takes: others are passed over.
pub(crate) const OTHERS: &str = "*";

/// A request's query parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// Takes a query apart.
    ///
    /// # Errors
    /// 400 for secrets, for a parameter the route doesn't take, and for one that is sent twice.
    pub(crate) fn parse(query: Option<&str>, taken: &[&str]) -> Result<Self, Problem> {
        let mut params = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if is_secret(&name, &value) {
                return Err(Problem::credential_in_query(&shown(&name)));
            }
            if !taken.contains(&name.as_str()) || name == OTHERS {
                if taken.contains(&OTHERS) {
                    continue;
                }
                return Err(Problem::unsupported_parameter(&shown(&name)));
            }
            if params.iter().any(|(known, _)| *known == name) {
                return Err(Problem::invalid_parameter(&name, "it is sent twice"));
            }
            params.push((name, value));
            if params.len() > PARAMETERS_MAX {
                return Err(Problem::malformed("the query has too many parameters"));
            }
        }
        Ok(Self(params))
    }

    /// A parameter as it was sent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A parameter, read.
    ///
    /// # Errors
    /// 400 naming the parameter, when it can't be.
    pub(crate) fn get<T>(&self, name: &str) -> Result<Option<T>, Problem>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.text(name)
            .map(|text| {
                text.parse().map_err(|error: T::Err| Problem::invalid_parameter(name, error.to_string()))
            })
            .transpose()
    }

    /// A whole number, none below 0.
    ///
    /// # Errors
    /// 400 naming the parameter, when it is none or too large.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match whole(text) {
            Some(number) => Ok(Some(number)),
            None => Err(Problem::invalid_parameter(name, "it takes a whole number from 0 on")),
        }
    }

    /// One of several words.
    ///
    /// # Errors
    /// 400 naming the parameter, when it is another word.
    pub(crate) fn word(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Some(word)),
            None => Err(Problem::invalid_parameter(name, format!("it is one of `{}`", words.join("`, `")))),
        }
    }

    /// Everything but the place in the list, in one order: what a cursor is bound to.
    pub(crate) fn filter(&self) -> String {
        let mut rest: Vec<_> =
            self.0.iter().filter(|(name, _)| name != "cursor" && name != "limit").collect();
        rest.sort();
        rest.iter().map(|(name, value)| format!("{}:{name}={}:{value};", name.len(), value.len())).collect()
    }
}

/// A whole number from 0 on, written in digits alone.
pub(crate) fn whole<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_secret(name: &str, value: &str) -> bool {
    SECRET_NAMES.contains(&name.to_ascii_lowercase().as_str())
        || SECRET_PREFIXES.iter().any(|prefix| value.starts_with(prefix))
}

fn decode(text: &str) -> Result<String, Problem> {
    let spaced = text.replace('+', " ");
    match percent_decode_str(&spaced).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(Problem::malformed("the query is not UTF-8")),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_parameters_are_taken_and_each_once() {
        let params = Params::parse(Some("limit=5&type=a%2Fb+c"), &["limit", "type"]).unwrap();
        assert_eq!((params.text("type"), params.number::<u16>("limit").unwrap()), (Some("a/b c"), Some(5)));
        for (query, code) in [
            ("as_of=5", "unsupported_parameter"),
            ("limit=1&limit=2", "invalid_parameter"),
            ("token=x", "credential_in_query"),
            ("limit=cht_abc", "credential_in_query"),
            ("type=%ff", "malformed"),
        ] {
            assert_eq!(Params::parse(Some(query), &["limit", "type"]).unwrap_err().code(), code, "{query}");
        }
    }

    #[test]
    fn where_a_standard_wants_it_others_are_passed_over_but_for_secrets() {
        let taken = ["code", "state", "*"];
        let params = Params::parse(Some("code=a&session_state=b&*=c&state=d&code2=e"), &taken).unwrap();
        assert_eq!(
            (params.text("code"), params.text("state"), params.text("*")),
            (Some("a"), Some("d"), None)
        );
        assert_eq!(params.text("session_state"), None);
        for (query, code) in [("code=a&code=b", "invalid_parameter"), ("token=x", "credential_in_query")] {
            assert_eq!(Params::parse(Some(query), &taken).unwrap_err().code(), code, "{query}");
        }
        assert_eq!(Params::parse(Some("*=1"), &["code"]).unwrap_err().code(), "unsupported_parameter");
    }

    #[test]
    fn what_is_no_number_is_told_in_words_of_the_api() {
        for text in ["abc", "-1", "+1", "1.5", "", "99999"] {
            let params = Params::parse(Some(&format!("after={text}")), &["after"]).unwrap();
            let told = format!("{:?}", params.number::<u16>("after").unwrap_err());
            assert!(told.contains("whole number"), "{told}");
        }
    }

    #[test]
    fn a_filter_is_the_same_in_any_order_and_differs_in_any_value() {
        let filter = |q: &str| Params::parse(Some(q), &["a", "b", "limit", "cursor"]).unwrap().filter();
        assert_eq!(filter("a=1&b=2&limit=5"), filter("b=2&a=1&cursor=x"));
        assert_ne!(filter("a=1&b=2"), filter("a=2&b=1"));
        assert_ne!(filter("a=1%3B1%3Ab%3D1%3A2"), filter("a=1&b=2"));
    }

    #[test]
    fn a_query_of_any_size_is_read_or_given_up_at_a_bounded_number_of_parameters() {
        let began = std::time::Instant::now();
        for size in std::iter::successors(Some(1_usize), |size| Some(size * 2)).take(17) {
            let many: Vec<String> = (0..size).map(|number| format!("q{number}=x")).collect();
            let names: Vec<String> = (0..size).map(|number| format!("q{number}")).collect();
            let taken: Vec<&str> = names.iter().map(String::as_str).collect();
            let read = Params::parse(Some(&many.join("&")), &taken);
            assert_eq!(read.is_ok(), size <= PARAMETERS_MAX, "{size}");
            for (unit, is_good) in [("a", true), ("+", true), ("%41", true), ("%C3", false), ("&", true)] {
                let query = format!("q={}", unit.repeat(size));
                assert_eq!(Params::parse(Some(&query), &["q"]).is_ok(), is_good, "{unit} {size} times");
            }
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn no_two_queries_give_a_filter_in_common() {
        let values = ["", "a", "1:b=1:a;", ";", "1:a", "0:;1:b=0:", "\0", "b=a", "1:a;1:b=1:a"];
        let mut seen = std::collections::HashMap::new();
        for a in [None].into_iter().chain(values.map(Some)) {
            for b in [None].into_iter().chain(values.map(Some)) {
                let named = [("a", a), ("b", b)];
                let params =
                    named.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
                let known = seen.insert(Params(params.collect()).filter(), (a, b));
                assert_eq!(known, None, "the same as {a:?} {b:?}");
            }
        }
    }
}
