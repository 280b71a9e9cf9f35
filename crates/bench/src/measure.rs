//! Timing: a piece of work repeated, the median and the spread. Knows nothing of what is timed.

use std::time::Instant;

/// How often each measurement is repeated.
pub(crate) const REPEATS: usize = 11;

/// Nanoseconds (or anything else) over repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of these figures.
    pub(crate) fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let at = |place: usize| figures.get(place).copied().unwrap_or(f64::NAN);
        Self { min: at(0), median: at(figures.len() / 2), max: at(figures.len().saturating_sub(1)) }
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { min: self.min * factor, median: self.median * factor, max: self.max * factor }
    }
}

/// Nanoseconds an item, each repeat over all items.
pub(crate) fn each<T>(items: &[T], repeats: usize, mut work: impl FnMut(&T)) -> Spread {
    let figures = (0..repeats).map(|_| {
        let start = Instant::now();
        items.iter().for_each(&mut work);
        start.elapsed().as_nanos() as f64 / items.len() as f64
    });
    Spread::of(figures.collect())
}

/// Nanoseconds of one piece of work.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_nanos() as f64)
}

/// Nanoseconds of every item, once.
pub(crate) fn one_by_one<T>(items: &[T], mut work: impl FnMut(&T) -> usize) -> Vec<(f64, usize)> {
    items
        .iter()
        .map(|item| {
            let (rows, nanos) = once(|| work(item));
            (nanos, rows)
        })
        .collect()
}

/// A time in the unit that suits it.
pub(crate) fn time(nanos: f64) -> String {
    match nanos {
        n if n < 1_000.0 => format!("{n:.0} ns"),
        n if n < 1_000_000.0 => format!("{:.2} µs", n / 1e3),
        n if n < 1_000_000_000.0 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}

/// Median and, in brackets, the least and the greatest.
pub(crate) fn shown(spread: Spread) -> String {
    format!("{} [{}–{}]", time(spread.median), time(spread.min), time(spread.max))
}
