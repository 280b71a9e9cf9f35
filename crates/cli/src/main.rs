//! The binary `charter`: the server and its clients.

fn main() {}
