//! Core catalog (to come).
