//! Progress of long work: a bar on a terminal, silence elsewhere.

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::{fmt::Write, time::Duration};

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
            "{msg} {wide_bar} {human_pos}/{human_len} {rate} {eta}"
        } else {
            "{msg} {spinner} {human_pos} {rate}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let shown = |state: &ProgressState, out: &mut dyn Write| {
                // A bar has nowhere to tell of it.
                out.write_str(&rate(state.per_sec())).unwrap_or_default();
            };
            bar.set_style(style.with_key("rate", shown));
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

/// Whole steps a second; a fraction only where less than ten are done.
fn rate(per_second: f64) -> String {
    if !per_second.is_finite() || per_second < 10.0 {
        return format!("{per_second:.1}/s");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least 10, and for people"
    )]
    let whole = per_second.round() as u64;
    format!("{}/s", HumanCount(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_no_digits_that_say_nothing() {
        assert_eq!(rate(6_353_006.857_7), "6,353,007/s");
        assert_eq!(rate(10.4), "10/s");
        assert_eq!(rate(0.25), "0.2/s");
    }
}
