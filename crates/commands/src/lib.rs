//! What may happen: commands, their guards, and the events they become.
