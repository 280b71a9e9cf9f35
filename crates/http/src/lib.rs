//! The HTTP API: routes, request and response shapes, the access table, the one mapping of errors to problems.
//!
//! Layer 4. Owns what a client sees. Must not decide anything: a handler parses, calls a use case, and answers.

pub mod dto;
