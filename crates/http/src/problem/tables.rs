//! Why a list could not be searched or sorted.

use super::{Problem, RETRY_SECONDS};
use axum::http::{StatusCode, header};
use charter_control::{NamesError, TablesError};

impl From<TablesError> for Problem {
    fn from(error: TablesError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        match error {
            TablesError::Store(error) => error.into(),
            TablesError::Behind { .. } | TablesError::NotBuilt => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
                    .with(header::RETRY_AFTER, RETRY_SECONDS)
            }
        }
    }
}

impl From<NamesError> for Problem {
    fn from(error: NamesError) -> Self {
        let detail = error.to_string();
        match error {
            NamesError::Store(error) => error.into(),
            NamesError::TooMany { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "too_many_users_to_search", detail)
            }
        }
    }
}
