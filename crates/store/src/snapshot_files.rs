//! Snapshots as files in a folder.
