//! The metrics as OpenMetrics 1.0: the same lines as Prometheus' own text format has, told in the newer form to those
//! who ask for it. Owns the form; must not know what is measured.

use std::{collections::BTreeSet, fmt::Write};

/// The type of such an answer.
pub(crate) const OPENMETRICS: &str = "application/openmetrics-text";

/// What a name may end with that is a unit.
const UNITS: [&str; 2] = ["seconds", "bytes"];

/// The text of one form, in the other.
pub(crate) fn openmetrics(text: &str) -> String {
    let counters: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")?.strip_suffix("_total"))
        .collect();
    let mut told = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.is_empty()) {
        let Some((kind, name, rest)) = described(line) else {
            push(&mut told, format_args!("{line}"));
            continue;
        };
        let family = name.strip_suffix("_total").filter(|family| counters.contains(family)).unwrap_or(name);
        push(&mut told, format_args!("# {kind} {family} {rest}"));
        let unit = UNITS.iter().find(|unit| family.rsplit('_').next() == Some(**unit));
        if let ("TYPE", Some(unit)) = (kind, unit) {
            push(&mut told, format_args!("# UNIT {family} {unit}"));
        }
    }
    told.push_str("# EOF\n");
    told
}

fn push(told: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a text can't fail.
    let _ = writeln!(told, "{line}");
}

fn described(line: &str) -> Option<(&str, &str, &str)> {
    let mut words = line.strip_prefix("# ")?.splitn(3, ' ');
    let (kind, name, rest) = (words.next()?, words.next()?, words.next()?);
    matches!(kind, "TYPE" | "HELP").then_some((kind, name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_named_without_its_ending_a_unit_is_told_and_the_end_is_marked() {
        let text = "# HELP a_total How many.\n# TYPE a_total counter\na_total{b=\"c d\"} 3\n\n\
                    # TYPE e_seconds histogram\ne_seconds_bucket{le=\"+Inf\"} 1\ne_seconds_sum 2\n\n\
                    # TYPE f_total gauge\nf_total 1\n";
        let told = "# HELP a How many.\n# TYPE a counter\na_total{b=\"c d\"} 3\n\
                    # TYPE e_seconds histogram\n# UNIT e_seconds seconds\n\
                    e_seconds_bucket{le=\"+Inf\"} 1\ne_seconds_sum 2\n\
                    # TYPE f_total gauge\nf_total 1\n# EOF\n";
        assert_eq!(openmetrics(text), told);
        assert_eq!(openmetrics(""), "# EOF\n");
    }
}
