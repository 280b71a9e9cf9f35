//! Read models in tables.

use crate::PostgresStore;
use charter_store::TableStore;

impl TableStore for PostgresStore {}
