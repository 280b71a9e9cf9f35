//! Progress of long work: a bar on a terminal, silence elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// How often a bar is drawn at most, in milliseconds.
const TICK_MS: u64 = 120;

/// A bar, or nothing.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for so many steps, or a spinner when their number is not known.
    pub(super) fn new(what: &str, total: Option<u64>, visible: bool) -> Self {
        let bar = if visible { ProgressBar::new(total.unwrap_or(0)) } else { ProgressBar::hidden() };
        if visible {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let template = if total.is_some() {
            "{msg} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}"
        } else {
            "{msg} {spinner} {human_pos} {per_sec}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        if visible {
            bar.enable_steady_tick(Duration::from_millis(TICK_MS));
        }
        Self(bar)
    }

    /// So many steps are done in all.
    pub(crate) fn at(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        self.0.finish_and_clear();
    }
}
