//! Peers side by side.
