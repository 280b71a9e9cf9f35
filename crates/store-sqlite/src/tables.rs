//! Read models in tables.

use crate::SqliteStore;
use charter_store::TableStore;

impl TableStore for SqliteStore {}
