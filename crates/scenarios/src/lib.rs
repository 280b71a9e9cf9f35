//! Policy test files: read, build, ask, compare.
