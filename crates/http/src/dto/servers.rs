//! The servers of an installation.

use charter_events::{Offset, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A server that is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Server {
    /// Its id, made up anew by each start.
    pub id: Uuid,
    /// Its build, such as `0.1.0`.
    pub build: String,
    /// The policy version it answered at when it last renewed its lease.
    #[schema(value_type = u64)]
    pub version: Offset,
    /// When it started.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// It counts as alive until then, unless it renews its lease.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

impl From<charter_store::Lease> for Server {
    fn from(lease: charter_store::Lease) -> Self {
        Self {
            id: lease.server,
            build: lease.build,
            version: lease.version,
            started_at: lease.started_at,
            expires_at: lease.expires_at,
        }
    }
}
