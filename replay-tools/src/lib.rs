//! As-of, diff, verify, rebuild, export, import.
