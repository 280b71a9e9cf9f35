//! Builders, fixed clock and ids, the naive model, the workload generators.
//!
//! For tests, benchmarks and `charter bench gen`. Knows the shapes of events and the text of the decision model;
//! must not know the real fold: what it computes has to be computed a second time, independently.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a mistake in a test's own data should stop the test at once"
)]

pub mod clock;
pub mod grant;
pub mod history;
pub mod ids;
pub mod model;
pub mod random;
pub mod rng;
pub mod workload;

pub use clock::at;
pub use grant::{GrantSpec, to_group, to_user};
pub use history::History;
pub use ids::SequentialIds;
pub use rng::Rng;
