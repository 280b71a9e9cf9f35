//! Builders, fixed clock and ids, the naive model, the workload generator.
