//! Why a command was not undone.

use super::Problem;
use crate::dto::EventReason;
use axum::http::StatusCode;
use charter_control::UndoError;
use charter_store::causes;

impl From<UndoError> for Problem {
    fn from(error: UndoError) -> Self {
        let detail = error.to_string();
        match error {
            UndoError::Access(error) => error.into(),
            UndoError::Past(error) => Self::from(error).of("offset"),
            UndoError::Command(error) => error.into(),
            UndoError::Store(error) => error.into(),
            UndoError::TooLarge { .. } | UndoError::TooLongAgo { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "limit_exceeded", detail).of("offset")
            }
            UndoError::NotUndoable(not) => {
                let mut problem = Self::new(StatusCode::CONFLICT, "not_undoable", detail).of("offset");
                problem.0.events = EventReason::of(&not);
                problem.0.more = not.more > 0;
                problem
            }
            UndoError::Unreadable { .. } => {
                tracing::error!(error = %causes(&error), "a command can't be undone");
                Self::internal()
            }
        }
    }
}
