//! Schemas, OpenAPI, layers, tidy.

fn main() {}
