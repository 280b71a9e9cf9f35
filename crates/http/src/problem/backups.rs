//! What becomes of errors around backups.

use super::Problem;
use axum::http::StatusCode;
use charter_control::{BackupError, OperationError};

impl From<BackupError> for Problem {
    fn from(error: BackupError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        match error {
            BackupError::NoFolder | BackupError::Operation(OperationError::Running { .. }) => {
                Self::new(StatusCode::CONFLICT, code, detail)
            }
            BackupError::Operation(error) => error.into(),
        }
    }
}
