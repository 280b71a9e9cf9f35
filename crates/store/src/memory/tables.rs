//! Read models in tables, in memory.

use super::MemoryStore;
use crate::tables::TableStore;

impl TableStore for MemoryStore {}
