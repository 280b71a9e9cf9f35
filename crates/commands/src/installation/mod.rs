//! What the control plane does for itself: the first events, core's catalog, the first and the recovered
//! administrator. One file a command.

mod create;
mod recover_administrator;
mod setup;
mod upsert_core_catalog;

pub use create::CreateInstallation;
pub use recover_administrator::RecoverAdministrator;
pub use setup::Setup;
pub use upsert_core_catalog::UpsertCoreCatalog;
