//! Records of what operators do. One file a command.

mod record;
mod skip_event;

pub use record::{RecordBackup, RecordRebuild, RecordRestore};
pub use skip_event::SkipEvent;
