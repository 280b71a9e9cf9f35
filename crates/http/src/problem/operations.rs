//! What becomes of errors around long work and read models in tables.

use super::Problem;
use axum::http::StatusCode;
use charter_control::{OperationError, ProjectionError};

impl From<OperationError> for Problem {
    fn from(error: OperationError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        match error {
            OperationError::NotFound => Self::not_found(),
            OperationError::Running { .. }
            | OperationError::NotRunning { .. }
            | OperationError::NotResumable { .. } => Self::new(StatusCode::CONFLICT, code, detail),
            OperationError::NotKept => Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail),
            OperationError::Store(error) => error.into(),
        }
    }
}

impl From<ProjectionError> for Problem {
    fn from(error: ProjectionError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        let invalid = |field| Self::invalid_member(code, field, detail.clone());
        match error {
            // Who is told may rebuild any of them: there is nothing to hide.
            ProjectionError::Unknown { .. } => Self::new(StatusCode::NOT_FOUND, code, detail),
            ProjectionError::Access(error) => error.into(),
            ProjectionError::Running { .. }
            | ProjectionError::NothingToSwitchTo
            | ProjectionError::NothingToRollBackTo
            | ProjectionError::NotStoppedThere { .. } => Self::new(StatusCode::CONFLICT, code, detail),
            ProjectionError::UnknownOffset { .. } => invalid("offset"),
            ProjectionError::ReasonRequired => invalid("X-Reason"),
            ProjectionError::Operation(error) => error.into(),
            ProjectionError::Command(error) => error.into(),
        }
    }
}
