//! Mistakes that a test builds into the writer, to see that the suite notices them.

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Commands are answered before they are durable.
    AnswerEarly,
    /// The new policy is shown before it is durable.
    PublishEarly,
}
