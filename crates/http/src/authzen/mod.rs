//! The AuthZEN Authorization API 1.0: the same questions in the words of a standard, for gateways that know no key of
//! ours. Owns those words: types, short action names, what an answer looks like. Must not know a rule: every decision
//! and every list is the one that `/check`, `/who-can`, `/allowed-objects` and `/effective` give.
//!
//! What can't be read is 400; what is not there, or not for the caller to know, is `false` or an empty list, never an
//! error, for a gateway asks about things that come and go.

mod body;
mod closed;
mod discovery;
mod evaluate;
mod names;
mod search;
pub(crate) mod shapes;

pub(crate) use body::Posted;
pub(crate) use closed::{closed, decides};
pub(crate) use discovery::configuration;
pub use discovery::{InvalidUrl, PublicUrl};
pub(crate) use evaluate::{Judge, all, judge};
pub use names::{InvalidSubjectType, SubjectType};
pub(crate) use search::{actions, resources, subjects};

/// Where a single question is asked.
const EVALUATION: &str = "/access/v1/evaluation";
/// Where several are.
const EVALUATIONS: &str = "/access/v1/evaluations";
/// Below it lies everything but discovery.
const ROOT: &str = "/access/v1/";

/// Whether a route is one of these: its answers carry the request's id just as it was sent.
pub(crate) fn is_route(path: &str) -> bool {
    path.starts_with(ROOT)
}
