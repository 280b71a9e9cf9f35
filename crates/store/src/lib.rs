//! Ports of all that is kept, in memory, with the hash chain and one conformance suite.
