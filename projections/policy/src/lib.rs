//! The state of an installation, folded from its events, and the questions asked of it.
