//! What a server measures of itself, as `GET /metrics` tells it.

use crate::Caller;

/// One reading.
pub struct Metrics(String);

impl Metrics {
    /// Reads a server's.
    ///
    /// # Errors
    /// When it does not answer, or refuses.
    pub async fn of(caller: &Caller) -> anyhow::Result<Self> {
        Ok(Self(caller.text("/metrics").await?))
    }

    /// The sum of a metric over its labels; `None` when it was not measured yet.
    pub fn value(&self, name: &str) -> Option<f64> {
        let of_it = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']));
        let values: Vec<f64> =
            self.0.lines().filter(of_it).filter_map(|line| line.rsplit_once(' ')?.1.parse().ok()).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels() {
        let metrics = Metrics("# TYPE a counter\na{b=\"c\"} 2\na{b=\"d\"} 3\na_b 7\nc 1\n".to_owned());
        assert_eq!(metrics.value("a"), Some(5.0));
        assert_eq!(metrics.value("a_b"), Some(7.0));
        assert_eq!(metrics.value("b"), None);
    }
}
