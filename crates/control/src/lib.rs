//! Use cases: the writer, the readers, sign-in, clocks.
