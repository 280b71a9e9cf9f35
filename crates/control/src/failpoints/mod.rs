//! Hooks at each step of the writer, for tests that force an interleaving or a failure. Not compiled into the product.

mod bugs;
pub mod race;

pub use bugs::Bug;

use async_trait::async_trait;

/// A step of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// Before the head is locked.
    Lock,
    /// The head is locked and everything others appended is read; nothing is decided yet.
    Decide,
    /// The batch is decided; nothing is written yet.
    Append,
    /// Everything is written; nothing is durable yet.
    Commit,
    /// Everything is durable; nobody can see it yet.
    Publish,
    /// Everything is published; nobody was answered yet.
    Reply,
}

/// What happens at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The step is taken.
    Continue,
    /// The step fails as if the store had refused it, before it had any effect.
    Fail,
    /// At [`Point::Commit`]: the commit takes effect, and an error is reported all the same.
    FailAfter,
}

/// Called by the writer before each step.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// The writer is about to take the step; it waits for the answer.
    async fn before(&self, point: Point) -> Outcome;
}

/// Asks the hooks, if there are any.
pub(crate) async fn at(inner: &crate::control::Inner, point: Point) -> Outcome {
    match &inner.config.hooks {
        Some(hooks) => hooks.before(point).await,
        None => Outcome::Continue,
    }
}
