//! Credentials: the facts about passwords, tokens and sessions. One file a command.

mod change_password;
mod end_session;
mod end_sessions;
mod issue_token;
mod revoke_token;

pub use change_password::ChangePassword;
pub use end_session::EndSession;
pub use end_sessions::EndSessions;
pub use issue_token::IssueToken;
pub use revoke_token::RevokeToken;
