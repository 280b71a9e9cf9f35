//! How the program ends: exit codes, and the one error type every command returns. Knows nothing of what was asked.

use serde_json::Value;
use std::{fmt::Display, process::ExitCode};

/// The exit codes, part of the program's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Yes, or done.
    Done = 0,
    /// Something failed, or something named does not exist.
    Error = 1,
    /// The command line, or a file handed in, is not understood.
    Usage = 2,
    /// The answer is no, or the server refused for want of a permission.
    Denied = 3,
    /// Nobody is signed in, or no longer.
    NotAuthenticated = 4,
    /// The state of things does not allow it: taken names, stale versions, guards.
    Conflict = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed: one clear line, and hints on what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code to end with.
    pub(crate) exit: Exit,
    /// One line, lower case, no full stop.
    pub(crate) message: String,
    /// What to try next, one line each.
    pub(crate) hints: Vec<String>,
    /// The change was only previewed: what it would do, as the server told.
    pub(crate) previewed: Option<Box<Value>>,
    /// The HTTP status, when a server refused.
    pub(crate) status: Option<u16>,
    /// The stable code of the refusal, when it has one.
    pub(crate) code: Option<String>,
}

/// What a command returns.
pub(crate) type Outcome<T = Exit> = Result<T, Failure>;

impl Failure {
    /// A failure that ends with this code.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hints: Vec::new(), previewed: None, status: None, code: None }
    }

    /// Ends what would have gone on after a change that was only previewed.
    pub(crate) fn previewed(told: Value) -> Self {
        let ended = Self::new(Exit::Done, "nothing was changed: this was a preview");
        Self { previewed: Some(Box::new(told)), ..ended }
    }

    /// A failure that ends with code 1.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::new(Exit::Error, message)
    }

    /// A failure that ends with code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// The same with one more hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::error(chain(&error))
    }
}

/// An error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// Says what was being done when an error came up.
pub(crate) trait Doing<T> {
    /// Puts `what` before the error's own text.
    fn doing(self, what: impl Display) -> Outcome<T>;
}

impl<T, E: std::error::Error> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Display) -> Outcome<T> {
        self.map_err(|error| Failure::error(format!("can't {what}: {}", chain(&error))))
    }
}
