//! How a case is written down, so that each is a test and can be run again with a guard taken out.

/// Test functions that are also listed, in `CASES`.
macro_rules! cases {
    ($($(#[$doc:meta])* fn $name:ident() $body:block)+) => {
        $($(#[$doc])* #[test] fn $name() $body)+

        /// Every case of this file.
        #[cfg(feature = "mutants")]
        pub(crate) const CASES: &[(&str, fn())] = &[$((stringify!($name), $name)),+];
    };
}
